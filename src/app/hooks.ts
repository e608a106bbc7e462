/** What the composition root knows and operator-defined hooks need: where they are written, what there is, whom to tell. */

import { defaultModel } from "../agent/models/models.js";
import type { Alerts } from "../alerts/alerts.js";
import type { Sla } from "../alerts/sla/sla.js";
import type { AssemblyDeps } from "../automations/assemble.js";
import type { Automations } from "../automations/automations.js";
import type { BrokenHook, LoadedHooks } from "../automations/definition/load.js";
import { readHooks } from "../automations/definition/read-hooks.js";
import type { Sources } from "../automations/definition/sources.js";
import { eventName } from "../automations/triggers/event-point.js";
import { dotEnvFile, type Environment } from "../config/env.js";
import { brokenEvent, type LoadedConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import type { Adapter } from "../domain/adapter.js";
import type { Address } from "../domain/address.js";
import type { Store } from "../domain/store.js";
import type { AnyPoint } from "../hooks/signatures.js";
import { databaseFiles, ownFilesOf } from "../store/files.js";
import { directAddress } from "./direct.js";
import type { NoteNoThread } from "./thread-notes.js";

/** The configured hooks as they are written now. `points`: with those of plugins and events. `inForce`: the hook under an id. */
export function hooksOf(
  { file, placeOf, problems }: LoadedConfig,
  { config, env }: Valid,
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

export function brokenEventsOf(problems: LoadedConfig["problems"]): ReadonlyMap<string, string> {
  const names = new Set(problems.flatMap(({ event }) => event ?? []));
  return new Map([...names].map((name) => [name, brokenEvent(name, problems) ?? ""]));
}

/** Events that are not in force are listed among the broken hooks: for queries, and so that no reload breaks one. */
export function withBrokenEvents(hooks: LoadedHooks, { problems }: LoadedConfig): LoadedHooks {
  const events = [...brokenEventsOf(problems).keys()].map((name): BrokenHook => {
    const own = problems.filter(({ event }) => event === name);
    const place = { file: own[0]?.file ?? "", line: own[0]?.line };
    return { id: eventName(name), place, critical: false, problems: own };
  });
  return { ...hooks, broken: [...hooks.broken, ...events] };
}

interface Valid {
  config: Config;
  env: Environment;
}

/** Direct messages to owners and admins. Roles are not people: those who have one by a Discord role are not told. */
export function adminsOf(
  config: Config,
  env: Environment,
  consoleId: string,
  owners: ReadonlyMap<string, unknown>,
): Address[] {
  const { operators, web } = config;
  const people = [...new Set([...operators.owner, ...owners.keys(), ...operators.admin])];
  const consoleIsAdmin = operators.console === "owner" || operators.console === "admin";
  return [...(web.enabled && consoleIsAdmin ? [`web:${consoleId}`] : []), ...people].flatMap((person): Address[] => {
    const [platform, id, ...more] = person.split(":");
    if (platform === undefined || id === undefined || more.length > 0) return [];
    const at = directAddress(platform, id, config, env);
    return at === undefined ? [] : [at];
  });
}

interface Swept {
  automations: Pick<Automations, "sweep">;
  orchestrator: { sweep(): Promise<number> };
  missions(): Promise<number>;
  sla: Pick<Sla, "sweep">;
  alerts: Pick<Alerts, "sweep">;
}

export function sweepAll(
  store: Pick<Store, "sweep">,
  { automations, orchestrator, missions, sla, alerts }: Swept,
): Store["sweep"] {
  return async (now) => ({
    ...(await store.sweep(now)),
    automations: await automations.sweep(now),
    tasks: await orchestrator.sweep(),
    missions: await missions(),
    sla: await sla.sweep(now),
    alerts: await alerts.sweep(now),
  });
}

/** Threads, under a message or by their name, on the platforms that have them. */
export function threadsOf(adapters: readonly Adapter[], noteNoThread: NoteNoThread): AssemblyDeps["threads"] {
  const adapterOf = (wanted: string) => adapters.find(({ platform }) => platform === wanted);
  return {
    noteNoThread,
    threadsAt: (platform) => {
      const adapter = adapterOf(platform);
      return adapter?.openThread ? "under-messages" : adapter?.openTopic ? "by-name" : "none";
    },
    openTopic: async (at, name) => adapterOf(at.platform)?.openTopic?.(at, name),
    openThread: async (at, messageId, name) => adapterOf(at.platform)?.openThread?.(at, messageId, name),
  };
}
