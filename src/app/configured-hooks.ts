/**
 * Configured hooks as they are written now, and again as they were read when plugins declare other points. Their secrets and those of their
 * configuration are masked from then on.
 */
import { isDeepStrictEqual } from "node:util";
import { defaultModel } from "../agent/models/models.js";
import type { Automations } from "../automations/automations.js";
import type { LoadedHooks } from "../automations/definition/load.js";
import { readHooks } from "../automations/definition/read-hooks.js";
import { readSources, type Sources } from "../automations/definition/sources.js";
import type { BrokenHook } from "../automations/desk.js";
import { dotEnvFile } from "../config/env.js";
import type { LoadedConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import type { HookRegistry } from "../hooks/registry.js";
import type { AnyPoint } from "../hooks/signatures.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { databaseFiles, ownFilesOf } from "../store/database-file/files.js";
import { brokenEventsOf, withBrokenEvents } from "./problems/broken-events.js";
import { secretsOf, type ValidConfig } from "./problems/valid-config.js";

interface Deps {
  registry: Pick<HookRegistry, "points">;
  automations: Pick<Automations, "get">;
  /** All secrets that are masked; grows. */
  secrets: (string | undefined)[];
}

export function hookReader({ registry, secrets, automations }: Deps) {
  return (loaded: LoadedConfig, valid: ValidConfig): LoadedHooks => {
    const { file, placeOf } = loaded;
    const sources = readSources({ file, hooks: valid.config.hooks, placeOf });
    const check = (): LoadedHooks => {
      const inForce = (id: string) => automations.get(id);
      const hooks = withBrokenEvents(hooksOf(loaded, valid, registry.points, inForce, sources), loaded);
      const named = new Set(hooks.definitions.flatMap((definition) => definition.secrets));
      const found = [...secretsOf(valid.config, valid.env), ...[...named].map(valid.env.variable)];
      secrets.push(...found.filter((secret) => !secrets.includes(secret)));
      return { ...hooks, recheck: check };
    };
    return check();
  };
}

interface Recheck {
  registry: Pick<HookRegistry, "mark">;
  automations: Pick<Automations, "broken" | "recheck" | "swap" | "settle">;
  ground: { file: string; logger: Logger };
}

/** Broken hooks that fit the points that plugins declare now are put in force; the other ones get their present reasons. */
export function recheckBroken({ registry, automations, ground: { file, logger } }: Recheck): void {
  const before = automations.broken();
  const hooks = before.length > 0 ? automations.recheck() : undefined;
  if (hooks === undefined || isDeepStrictEqual(reasonsOf(hooks.broken), reasonsOf(before))) return;
  const takeBack = registry.mark();
  const report = (error: unknown) => logger.error({ error: errorMessage(error) }, "broken hooks were not put in force");
  try {
    const swapped = automations.swap(hooks);
    if (swapped.added.length + swapped.changed.length > 0) void automations.settle(swapped, file).catch(report);
  } catch (error) {
    takeBack();
    report(error);
  }
}

const reasonsOf = (broken: readonly Pick<BrokenHook, "id" | "problems">[]) =>
  broken.map(({ id, problems }) => [id, problems.map(({ message }) => message)]);

/** The configured hooks as they are written now. `points`: with those of plugins and events. `inForce`: the hook under an id. */
export function hooksOf(
  { file, placeOf, problems }: LoadedConfig,
  { config, env }: Pick<ValidConfig, "config" | "env">,
  points: readonly AnyPoint[],
  inForce?: Automations["get"],
  sources?: Sources,
): LoadedHooks {
  const hooks = readHooks(
    { file, hooks: config.hooks, placeOf },
    {
      points: new Map(points.map((point) => [point.name, point])),
      events: Object.keys(config.events),
      brokenEvents: brokenEventsOf(problems),
      secret: env.variable,
      ownFiles: ownFilesOf(databaseFiles(env.DATABASE_URL), dotEnvFile()),
      models: Object.keys(config.models.available),
      defaultModel: availableDefault(config.models),
      unpriced: Object.entries(config.models.available).flatMap(([name, { price }]) =>
        price === undefined ? name : [],
      ),
      inForce,
    },
    sources,
  );
  return { ...hooks, events: Object.keys(config.events) };
}

function availableDefault(models: Config["models"]): string | undefined {
  const name = defaultModel(models);
  return name !== undefined && Object.hasOwn(models.available, name) ? name : undefined;
}
