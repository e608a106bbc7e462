/** Hooks as they are written now. What they and their configuration keep secret is masked from then on. */
import type { Automations } from "../automations/automations.js";
import type { LoadedHooks } from "../automations/definition/load.js";
import type { LoadedConfig } from "../config/load.js";
import type { HookRegistry } from "../hooks/registry.js";
import { hooksOf, withBrokenEvents } from "./hooks.js";
import type { Valid } from "./reload.js";
import { secretsOf } from "./valid.js";

interface Deps {
  registry: Pick<HookRegistry, "points">;
  automations: Pick<Automations, "get">;
  /** All that are masked; grows. */
  secrets: (string | undefined)[];
}

export function hookReader({ registry, secrets, automations }: Deps) {
  return (loaded: LoadedConfig, valid: Valid): LoadedHooks => {
    const hooks = withBrokenEvents(
      hooksOf(loaded, valid, registry.points, (id) => automations.get(id)),
      loaded,
    );
    const named = new Set(hooks.definitions.flatMap((definition) => definition.secrets));
    const found = [...secretsOf(valid.config, valid.env), ...[...named].map(valid.env.variable)];
    secrets.push(...found.filter((secret) => !secrets.includes(secret)));
    return hooks;
  };
}
