/**
 * Taking over a changed configuration: checked first, swapped whole. What is refused is said to admins in chat, and nothing changes;
 * what only a restart can take over is said, too.
 */

import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Alerts } from "../alerts/alerts.js";
import type { Sla } from "../alerts/sla/sla.js";
import type { Automations, Reloaded } from "../automations/automations.js";
import type { LoadedHooks } from "../automations/definition/load.js";
import { HOOKS_FOLDER } from "../automations/definition/sources.js";
import type { Notifier } from "../automations/notify.js";
import { declareEvents, withdrawEvents } from "../automations/triggers/ingested.js";
import { watchDefinitions } from "../automations/watch.js";
import { type Environment, VARIABLES } from "../config/env.js";
import type { LoadedConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import type { HookRegistry } from "../hooks/registry.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Orchestrator } from "../orchestrator/orchestrator.js";
import type { PluginInfo, Plugins } from "../plugins/plugins.js";
import type { Overrides } from "./overrides.js";

export interface Valid {
  config: Config;
  env: Environment;
  /** Events with problems: why. */
  brokenEvents: ReadonlyMap<string, string>;
}

export interface TakenOver {
  plugins: PluginInfo[];
  hooks: Reloaded;
  /** Sections and variables that changed, and that only a restart takes over. */
  needRestart: string[];
}

interface Parts {
  started: Valid;
  /** Rejects when the configuration has problems. */
  validate(next: LoadedConfig): Valid;
  /** Hooks as they are written now. */
  readHooks(next: LoadedConfig, valid: Valid): LoadedHooks;
  /** It holds from now on. */
  adopt(valid: Valid): void;
  registry: HookRegistry;
  plugins: Plugins;
  overrides: Overrides;
  automations: Automations;
  sla: Pick<Sla, "prepare">;
  alerts: Pick<Alerts, "prepare">;
  orchestrator: Pick<Orchestrator, "reconfigured">;
  notifier: Notifier;
  mask(text: string): string;
  logger: Logger;
}

/** `plugins`: whether those that did not change in the configuration are loaded anew, too, for their code. */
export type Reload = (next: () => LoadedConfig, how: { plugins: "all" | "changed" }) => Promise<TakenOver>;

/** One after the other. Rejects with what was wrong; admins have been told. */
export function reloader(parts: Parts): Reload {
  let last: Promise<unknown> = Promise.resolve();
  return (next, how) => {
    const reloaded = last.then(() => reload(next, how, parts));
    last = reloaded.catch(() => {
      // whoever asked for it has the rejection
    });
    return reloaded;
  };
}

async function reload(read: () => LoadedConfig, how: { plugins: "all" | "changed" }, parts: Parts): Promise<TakenOver> {
  const { plugins, automations, notifier, mask, logger } = parts;
  try {
    const next = read();
    const valid = parts.validate(next);
    const takeSla = await parts.sla.prepare(valid.config.sla);
    const takeAlerts = await parts.alerts.prepare(valid.config.alerts);
    let swapped: ReturnType<Automations["swap"]> | undefined;
    const change = { entries: valid.config.plugins, onlyChanged: how.plugins === "changed" };
    // Plugins are set up aside before; from here to the end of `swap` it is one turn of the event loop.
    const infos = await plugins.reload(change, () => {
      swapped = swap(next, valid, parts);
      takeSla();
      takeAlerts();
      parts.orchestrator.reconfigured();
    });
    if (swapped === undefined) throw new Error("the gateway stops");
    const needRestart = whatNeedsRestart(parts.started, valid);
    if (needRestart.length > 0) {
      const message = `Changed, but taken over only by a restart: ${needRestart.join(", ")}.`;
      logger.warn({ file: next.file, needRestart }, message);
      await notifier.alert("restart", `⚠ ${message}`);
    }
    return { plugins: infos, hooks: await automations.settle(swapped, next.file), needRestart };
  } catch (error) {
    const message = mask(errorMessage(error)).slice(0, 1500);
    await notifier.alert("reload", `⚠ A changed configuration was not taken over.\n${message}`);
    throw error;
  }
}

/** All or nothing: events, overrides and hooks, held against each other and the plugins that are in place by now. */
function swap(next: LoadedConfig, valid: Valid, { registry, overrides, automations, readHooks, adopt }: Parts) {
  const takeBack = [registry.mark(), overrides.mark()];
  try {
    declareEvents(registry, valid.config.events);
    for (const id of overrides.take(valid.config.overrides)) registry.reconsider(id);
    const swapped = automations.swap(readHooks(next, valid));
    withdrawEvents(registry, valid.config.events);
    adopt(valid);
    return swapped;
  } catch (error) {
    for (const back of takeBack) back();
    throw error;
  }
}

/** Read whenever they are needed, or swapped by a reload. All others are read once, at the start. */
const TAKEN_OVER: ReadonlySet<string> = new Set<keyof Config>([
  "hooks",
  "events",
  "plugins",
  "overrides",
  "models",
  "automations",
  "sla",
  "alerts",
  "orchestrator",
]);

function whatNeedsRestart(started: Valid, now: Valid): string[] {
  const sections = (Object.keys(now.config) as (keyof Config)[]).filter(
    (section) => !TAKEN_OVER.has(section) && !isDeepStrictEqual(started.config[section], now.config[section]),
  );
  return [...sections, ...VARIABLES.filter((name) => started.env[name] !== now.env[name])];
}

interface WatchParts {
  reread(): LoadedConfig;
  reload: Reload;
  /** `automations.watch`, as it is now. */
  isWanted(): boolean;
  clock: Clock;
  logger: Logger;
}

/** Changes of the file, and of those under `hooks/` beside it, are taken over as they are saved. */
export async function watchConfig(file: string, parts: WatchParts): Promise<() => Promise<void>> {
  const { reread, reload, isWanted, clock, logger } = parts;
  const watch = await watchDefinitions([file, join(dirname(file), HOOKS_FOLDER)], clock, () => {
    if (!isWanted()) return;
    reload(reread, { plugins: "changed" }).catch((error: unknown) =>
      logger.error({ file, error: errorMessage(error) }, "a changed configuration was not taken over"),
    );
  });
  return () => watch.stop();
}
