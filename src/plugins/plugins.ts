/** The plugins of a gateway: loaded in the order of the configuration, reloaded one by one, each failure reported and contained. */
import type { KeyValueStore } from "../domain/store.js";
import type { Route, Routes } from "../gateway/routes.js";
import type { HookRegistry, Problem } from "../hooks/registry.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { GatewayFunctions } from "./api.js";
import type { PluginEntry } from "./config.js";
import { findModule } from "./load.js";
import { LivePlugin, prepare, problemText, type Surroundings } from "./reload.js";
import { watchFiles } from "./watch.js";

export interface PluginsOptions {
  entries: readonly PluginEntry[];
  /** Paths are relative to it: the folder of the configuration file. */
  baseDir: string;
  registry: HookRegistry;
  /** Called when a plugin sends; a gateway that is made later can be reached through a closure. */
  gateway: GatewayFunctions;
  keyValue: KeyValueStore;
  clock: Clock;
  logger: Logger;
  /** Reload a plugin when its file changes. Default: true. */
  watch?: boolean;
}

/** `loaded` with a `reason`: the last reload failed and the version before it is at work. */
export interface PluginInfo {
  module: string;
  file?: string;
  id?: string;
  state: "loaded" | "broken" | "off";
  reason?: string;
  critical: boolean;
  /** Ids of its hooks. */
  hooks: string[];
  /** When the version at work was put in place (ms since the epoch). */
  loadedAt?: number;
}

export interface Plugins {
  /** Loads all; rejects with PLUGIN_CRITICAL when one that is `critical` is broken. Called again it reloads. */
  load(): Promise<PluginInfo[]>;
  /** New versions of all, or of those from one file; with `entries`, the configuration's new list. Never rejects: failures are in the list and the log. */
  reload(change?: { file?: string; entries?: readonly PluginEntry[] }): Promise<PluginInfo[]>;
  list(): PluginInfo[];
  /** For the gateway's default route. */
  readonly routes: Routes;
  stop(): Promise<void>;
}

interface Holder {
  entry: PluginEntry;
  live: LivePlugin | undefined;
  file: string | undefined;
  reason: string | undefined;
  loadedAt: number | undefined;
}

export function createPlugins(options: PluginsOptions): Plugins {
  const { registry, clock, logger } = options;
  const routes = new Map<string, Route>();
  let holders = options.entries.map(holderFor);
  let version = 0;
  let isStopped = false;
  let queue: Promise<unknown> = Promise.resolve();
  const watch = options.watch === false ? undefined : watchFiles(clock, (file) => void reload({ file }));

  /** Loads and reloads follow each other, never mix. */
  const inTurn = <T>(step: () => Promise<T>): Promise<T> => {
    const result = queue.then(step);
    queue = result.catch(() => {
      // whoever asked for that step has the rejection
    });
    return result;
  };

  const surroundings = (holder: Holder): Surroundings => ({
    ...options,
    routes,
    holderOf: (id) => holders.find((other) => other !== holder && other.live?.id === id)?.entry.module,
  });

  async function bring(holder: Holder, isReload: boolean): Promise<void> {
    const { entry } = holder;
    const around = surroundings(holder);
    try {
      const found = findModule(entry.module, options.baseDir);
      holder.file = found.file;
      const candidate = await prepare(entry, found, around, version > 0 ? String(version) : undefined);
      const { id } = candidate.definition;
      const isSame = holder.live?.id === id;
      const live = isSame && holder.live ? holder.live : new LivePlugin(id, around);
      await live.install(candidate, { checked: isReload });
      if (!isSame) await holder.live?.remove();
      holder.live = live;
      holder.reason = undefined;
      holder.loadedAt = clock.now();
      logger.info(
        { plugin: id, module: entry.module, hooks: live.hooks },
        isReload ? "plugin reloaded" : "plugin loaded",
      );
    } catch (error) {
      report(holder, error);
    }
  }

  function report(holder: Holder, error: unknown): void {
    const hint = error instanceof HookgateError && error.hint ? ` ${error.hint}` : "";
    const what = `${errorMessage(error)}.${hint}`.replace(/\.\./g, ".");
    holder.reason = holder.live ? `the new version failed, the one before it is at work: ${what}` : what;
    const facts = { module: holder.entry.module, file: holder.file, plugin: holder.live?.id, error };
    logger.error(facts, holder.live ? `plugin not reloaded: ${what}` : `plugin broken: ${what}`);
  }

  /** Plugins may name each other's hooks, so dependencies are checked when all are there; one that misses something is taken out. */
  async function checkAll(): Promise<void> {
    for (let round = 0; round <= holders.length; round++) {
      const problems = registry.validate();
      const broken = holders.filter((holder) => holder.live?.hooks.some((id) => problems.some(blames(id))));
      if (broken.length === 0) return;
      for (const holder of broken) {
        const own = problems.filter((problem) => holder.live?.hooks.some((id) => blames(id)(problem)));
        await holder.live?.remove();
        holder.live = undefined;
        report(holder, new HookgateError({ code: "PLUGIN_HOOKS", message: own.map(problemText).join("; ") }));
      }
    }
  }

  async function bringAll(wanted: readonly Holder[], isReload: boolean): Promise<PluginInfo[]> {
    if (isReload) version++;
    for (const holder of wanted) if (holder.entry.enabled && !isStopped) await bring(holder, isReload);
    if (!isReload) await checkAll();
    await watch?.set(holders.flatMap((holder) => (holder.entry.enabled && holder.file ? [holder.file] : [])));
    return list();
  }

  async function replaceEntries(entries: readonly PluginEntry[]): Promise<void> {
    const before = holders;
    holders = entries.map((entry) => {
      const same = before.find((holder) => holder.entry.module === entry.module);
      return same && entry.enabled ? { ...same, entry } : holderFor(entry);
    });
    const kept = new Set(holders.map((holder) => holder.live));
    for (const { live } of before) if (live && !kept.has(live)) await live.remove();
  }

  function reload(change: { file?: string; entries?: readonly PluginEntry[] } = {}): Promise<PluginInfo[]> {
    return inTurn(async () => {
      if (isStopped) return list();
      if (change.entries) await replaceEntries(change.entries);
      const wanted = change.file === undefined ? holders : holders.filter((holder) => holder.file === change.file);
      return bringAll(wanted, true);
    });
  }

  function list(): PluginInfo[] {
    return holders.map(({ entry, live, file, reason, loadedAt }) => ({
      module: entry.module,
      ...(file === undefined ? {} : { file }),
      ...(live === undefined ? {} : { id: live.id }),
      state: entry.enabled ? (live ? "loaded" : "broken") : "off",
      ...(reason === undefined ? {} : { reason }),
      critical: entry.critical,
      hooks: live?.hooks ?? [],
      ...(loadedAt === undefined ? {} : { loadedAt }),
    }));
  }

  let isLoaded = false;
  return {
    load: () =>
      inTurn(async () => {
        const infos = await bringAll(holders, isLoaded);
        isLoaded = true;
        const broken = infos.filter((info) => info.critical && info.state === "broken");
        if (broken.length === 0) return infos;
        throw new HookgateError({
          code: "PLUGIN_CRITICAL",
          message: broken
            .map(({ module, reason }) => `The critical plugin ${module} cannot be loaded: ${reason}`)
            .join("\n"),
          hint: "Repair it, or set `critical: false` for it.",
        });
      }),
    reload,
    list,
    routes,
    async stop() {
      isStopped = true;
      await watch?.stop();
      await inTurn(async () => {
        for (const holder of holders) await holder.live?.remove();
      });
    },
  };
}

/** The first id of a problem is the hook that has it; a cycle is everybody's in it. */
function blames(hookId: string): (problem: Problem) => boolean {
  return ({ code, ids }) => (code === "DEPENDENCY_CYCLE" ? ids.includes(hookId) : ids[0] === hookId);
}

function holderFor(entry: PluginEntry): Holder {
  return { entry, live: undefined, file: undefined, reason: undefined, loadedAt: undefined };
}
