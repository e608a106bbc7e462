/** The models that are configured, each asked through its provider's API. The client library is loaded by the first question. */
import type { ModelAnswer, ModelRequest, Models } from "../../domain/model.js";
import type { Clock } from "../../lib/time/clock.js";
import { nearest } from "../../lib/validation/nearest.js";
import type { ModelConfig, ModelsConfig } from "./config.js";

export interface ModelsDeps {
  /** The models of the current configuration. */
  config(): ModelsConfig;
  /** Reads a variable of the environment: keys. */
  variable(name: string): string | undefined;
  clock: Clock;
}

export function createModels({ config, variable, clock }: ModelsDeps): Models {
  const names = () => Object.keys(config().available);

  async function ask(request: ModelRequest): Promise<ModelAnswer> {
    const name = request.model ?? defaultModel(config());
    const model = name === undefined ? undefined : config().available[name];
    if (name === undefined || model === undefined) return { kind: "unknown", error: whyUnknown(name, names()) };
    const key = keyOf(model, variable);
    if (key.kind === "missing")
      return {
        kind: "unknown",
        error: `the environment variable ${key.variable} with the key of "${name}" is not set`,
      };
    if (request.bounds.costUsd !== undefined && model.price === undefined)
      return { kind: "unknown", error: `a cost limit needs a price, and models.available.${name}.price is not set` };
    const { askModel } = await import("./ask.js");
    return askModel({ name, model, key: key.key, clock }, request);
  }

  return {
    get names() {
      return names();
    },
    ask,
  };
}

/** The one that is named as default, or the only one. */
export function defaultModel(config: ModelsConfig): string | undefined {
  const names = Object.keys(config.available);
  return config.default ?? (names.length === 1 ? names[0] : undefined);
}

type Key = { kind: "key"; key: string | undefined } | { kind: "missing"; variable: string };

function keyOf({ key_env }: ModelConfig, variable: ModelsDeps["variable"]): Key {
  if (key_env === undefined) return { kind: "key", key: undefined };
  const key = variable(key_env);
  return key === undefined ? { kind: "missing", variable: key_env } : { kind: "key", key };
}

function whyUnknown(name: string | undefined, names: readonly string[]): string {
  if (names.length === 0) return "no model is configured: name one under models.available in hookgate.yaml";
  if (name === undefined)
    return `several models are configured and none is the default: set models.default to one of ${names.join(", ")}`;
  const near = nearest(name, names);
  return `there is no model "${name}"${near === undefined ? "" : ` (did you mean "${near}"?)`}; configured are ${names.join(", ")}`;
}
