/** The plugins of a gateway: loaded in the order of the configuration, reloaded one by one, each failure reported and contained. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { KeyValueStore } from "../domain/store.js";
import type { Command } from "../gateway/commands.js";
import type { Route, Routes } from "../gateway/routes.js";
import type { HookRegistry, Problem } from "../hooks/registry.js";
import { isUnfit } from "../hooks/validate.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { localFiles } from "../lib/fresh-imports.js";
import { inTurn } from "../lib/in-turn.js";
import type { Logger } from "../lib/logger.js";
import type { HookBreaker } from "./breaker.js";
import type { PluginEntry } from "./config.js";
import { failure, findModule } from "./load.js";
import {
  type Candidate,
  EXIT_CALLED,
  LivePlugin,
  over,
  type Placement,
  prepare,
  problemKey,
  problemText,
  type Surroundings,
} from "./reload.js";
import type { GatewayFunctions } from "./stage.js";
import { watchFiles } from "./watch.js";

export interface PluginsOptions {
  entries: readonly PluginEntry[];
  /** Paths are relative to it: the folder of the configuration file. */
  baseDir: string;
  registry: HookRegistry;
  /** Called when a plugin sends; a gateway that is made later can be reached through a closure. */
  gateway: GatewayFunctions;
  keyValue: KeyValueStore;
  /** Names of the product's own commands, which plugins cannot take. */
  reservedCommands?: ReadonlySet<string>;
  /** Keeps a hook that never answers from being called each time. */
  breaker?: HookBreaker;
  /** How long the teardown of a plugin is waited for. Default: 10 seconds. */
  teardownTimeoutMs?: () => number;
  clock: Clock;
  logger: Logger;
  /** Called before a plugin's module is imported and set up, with the module as the configuration names it. */
  onPrepare?: (module: string) => void;
  /** The function that a plugin's setup returned failed, or does not end. */
  onEndFailed?: (pluginId: string, message: string) => void;
  /** Called after a reload has put plugins in place: their hooks may differ from what they were. */
  onReloaded?: () => void;
  /** Reload a plugin when its file, or a local file that it imports, changes. Default: true. */
  watch?: boolean;
}

/** `loaded` with a `reason`: the last reload failed and the version before it is at work, or it would not load at the next start. */
export interface PluginInfo {
  module: string;
  file?: string;
  id?: string;
  state: "loaded" | "broken" | "off";
  reason?: string;
  /** Its entry says so, or one of its hooks. Undefined: the entry does not, and its setup did not end, so its hooks are not known. */
  critical: boolean | undefined;
  /** Ids of its hooks. */
  hooks: string[];
  /** What of its hooks can never happen: a matcher that no payload fits, with the place of the registration. */
  warnings: readonly string[];
  /** Names of the hook points that it declares. */
  points: string[];
  /** It called `api.route`. */
  hasRoute: boolean;
  /** When the version at work was put in place (ms since the epoch). */
  loadedAt?: number;
  /** It is not in the list of the configuration any more, and stays loaded because these modules of the list cannot be loaded. */
  staysFor?: readonly string[];
}

export interface PluginsChange {
  /** Those from one file, and those that import it. */
  file?: string;
  /** The configuration's new list. */
  entries?: readonly PluginEntry[];
  /** Those that are new, changed in the list, or broken; others stay as they are. */
  onlyChanged?: boolean;
}

export interface Plugins {
  /** Loads all; rejects with PLUGIN_CRITICAL when one that is `critical` is broken. Called again it reloads. */
  load(): Promise<PluginInfo[]>;
  /**
   * New versions of all, or of those that `change` names. Failures are in the list and the log: a plugin that fails stays as it was
   * and stops no other. `accept` is called when all are in place, in the same turn of the event loop; when it throws, everything is
   * as it was before, and that is the rejection.
   */
  reload(change?: PluginsChange, accept?: () => void): Promise<PluginInfo[]>;
  list(): PluginInfo[];
  /** For the gateway's default route. */
  readonly routes: Routes;
  /** The commands of those at work. */
  commands(): readonly Command[];
  stop(): Promise<void>;
}

interface Holder {
  entry: PluginEntry;
  live: LivePlugin | undefined;
  file: string | undefined;
  /** Its file, and the local files that this imports. Until it is found: the path that the configuration names. */
  files: readonly string[];
  reason: string | undefined;
  /** Its newest version was refused, maybe because of what another plugin declares or registers: it is tried again with the next one. */
  isRefused: boolean;
  /** One of its hooks says `critical: true`. Undefined: its setup did not end. */
  isCritical: boolean | undefined;
  /** Its entry disappeared from the list: it leaves when every entry of the list is loaded, for one of them may be its new version. */
  isGone: boolean;
  loadedAt: number | undefined;
}

interface Ready {
  holder: Holder;
  candidate: Candidate;
}

type Prepared = Ready | { holder: Holder; error: unknown };

export function createPlugins(options: PluginsOptions): Plugins {
  const { registry, clock, logger, baseDir } = options;
  const routes = new Map<string, Route>();
  let holders = options.entries.map((entry) => holderFor(entry, baseDir));
  let version = 0;
  let isStopped = false;
  const watch = options.watch === false ? undefined : watchFiles(clock, (file) => void reload({ file }));

  /** Loads and reloads follow each other, never mix. */
  const takeTurn = inTurn();

  const commands = new Map<string, readonly Command[]>();
  const { breaker, reservedCommands = new Set(), teardownTimeoutMs = () => 10_000 } = options;
  const around: Surroundings = {
    ...options,
    breaker,
    routes,
    commands,
    reservedCommands,
    teardownTimeoutMs,
    pointsAside: [],
    leaving: new Set(),
  };

  /** Imported and set up aside: nothing of it is in place yet. */
  async function prepareAside(holder: Holder): Promise<Prepared> {
    holder.isCritical = undefined;
    try {
      options.onPrepare?.(holder.entry.module);
      const found = findModule(holder.entry.module, baseDir);
      holder.file = found.file;
      holder.files = found.file === undefined ? [] : localFiles(found.file);
      const candidate = await prepare(holder.entry, found, around, version > 0 ? String(version) : undefined, () => {
        holder.isCritical = true;
      });
      holder.isCritical ??= false;
      return { holder, candidate };
    } catch (error) {
      return { holder, error };
    }
  }

  /** Puts one in place; what it replaces ends when its placement is settled. Throws, with everything as it was. */
  function put({ holder, candidate }: Ready, how: { isReload: boolean; checked: boolean }): Placement[] {
    const { id } = candidate.definition;
    refuseTwice(holder, id);
    const replaced = [holder, ...holders.filter((one) => one.isGone && isReplacedBy(candidate, one.live))];
    const same = replaced.find(({ live }) => live?.id === id)?.live;
    const live = same ?? new LivePlugin(id, around);
    const placed = live.place(candidate, { checked: how.checked });
    const withdrawn = replaced.flatMap((one) => (one.live && one.live !== live ? withdraw(one.live, one) : []));
    const before = replaced.map((one) => ({ ...one }));
    for (const one of replaced) one.live = undefined;
    Object.assign(holder, { live, reason: undefined, isRefused: false, loadedAt: clock.now() });
    const takeBack = () => {
      placed.takeBack();
      for (const [index, one] of replaced.entries()) Object.assign(one, before[index]);
    };
    const settle = async () => {
      logger.info(
        { plugin: id, module: holder.entry.module, hooks: live.hooks },
        how.isReload && same ? "plugin reloaded" : "plugin loaded",
      );
      // At a start they are in the list of problems, which is logged.
      if (how.isReload) for (const warning of live.warnings) logger.warn({ plugin: id }, `plugin "${id}": ${warning}`);
      await placed.settle();
    };
    return [{ takeBack, settle }, ...withdrawn];
  }

  /** It has its id, or one of its commands. */
  function isReplacedBy({ definition, stage }: Candidate, live: LivePlugin | undefined): boolean {
    if (live === undefined) return false;
    const own = new Set(commands.get(live.id)?.map(({ name }) => name));
    return live.id === definition.id || stage.commands.some(({ name }) => own.has(name));
  }

  function withdraw(live: LivePlugin, { entry }: Holder): Placement {
    const { id, hooks } = live;
    const { takeBack, settle } = live.withdraw();
    const logAndSettle = () => {
      logger.info({ plugin: id, module: entry.module, hooks }, "plugin removed");
      return settle();
    };
    return { takeBack, settle: logAndSettle };
  }

  /** One by one, again while that helps, then those that are left together: they may name each other's hooks. Failures are reported. */
  function putAll(prepared: readonly Prepared[], isRetry: boolean): Placement[] {
    const placements: Placement[] = [];
    const errors = new Map<Prepared, unknown>(prepared.map((one) => [one, "error" in one && one.error]));
    let left = prepared.filter((one) => "candidate" in one);
    let count: number;
    do {
      count = left.length;
      left = left.filter((one) => {
        try {
          placements.push(...put(one, { isReload: true, checked: true }));
          errors.delete(one);
          return false;
        } catch (error) {
          errors.set(one, error);
          return true;
        }
      });
      if (left.length < count) continue;
      const together = putTogether(left);
      placements.push(...together.placements);
      for (const one of together.placed) errors.delete(one);
      left = left.filter((one) => errors.has(one));
    } while (left.length < count);
    for (const [one, error] of errors) report(one.holder, error, { isRefused: mayDependOnOthers(one), isRetry });
    for (const { candidate } of left)
      placements.push({ takeBack: () => {}, settle: () => over(candidate, around), isRefusal: true });
    return placements;
  }

  /** Without those whose hooks wait for each other even so. */
  function putTogether(candidates: readonly Ready[]): { placed: readonly Ready[]; placements: Placement[] } {
    const known = new Set(registry.validate().map(problemKey));
    let wanted = candidates;
    while (wanted.length > 1) {
      const placements: Placement[] = [];
      let refused: readonly Ready[];
      try {
        for (const one of wanted) placements.push(...put(one, { isReload: true, checked: false }));
        const problems = registry.validate().filter((problem) => isUnfit(problem) && !known.has(problemKey(problem)));
        if (problems.length === 0) return { placed: wanted, placements };
        refused = wanted.filter(({ holder }) => holder.live?.hooks.some((id) => problems.some(blames(id))));
      } catch {
        refused = []; // its own failure is reported
      }
      for (const placement of placements.reverse()) placement.takeBack();
      if (refused.length === 0) break;
      wanted = wanted.filter((one) => !refused.includes(one));
    }
    return { placed: [], placements: [] };
  }

  function refuseTwice(holder: Holder, id: string): void {
    const other = holders.find((one) => one !== holder && !one.isGone && one.live?.id === id);
    if (other === undefined) return;
    throw failure(
      "PLUGIN_TWICE",
      `the id "${id}" is taken by ${other.entry.module}`,
      "Name a plugin once, or give it another id.",
    );
  }

  function report(holder: Holder, error: unknown, how: { isRefused: boolean; isRetry?: boolean }): void {
    const before = holder.reason;
    const message = errorMessage(error);
    const hint = error instanceof HookgateError && error.hint ? ` ${error.hint}` : "";
    const what = `${message}${/[.?!]$/.test(message) ? "" : "."}${hint}`;
    holder.reason = holder.live ? `the new version failed, the previous one stays in place: ${what}` : what;
    holder.isRefused = how.isRefused;
    if (how.isRetry && holder.reason === before) return;
    const facts = { module: holder.entry.module, file: holder.file, plugin: holder.live?.id, error };
    logger.error(facts, holder.live ? `plugin not reloaded: ${what}` : `plugin broken: ${what}`);
  }

  /** Plugins may name each other's hooks, so the order is checked when all are there; one in a circle is taken out. */
  async function checkAll(): Promise<void> {
    for (let round = 0; round <= holders.length; round++) {
      const problems = registry.validate().filter(isUnfit);
      const broken = holders.filter((holder) => holder.live?.hooks.some((id) => problems.some(blames(id))));
      if (broken.length === 0) return;
      for (const holder of broken) {
        const own = problems.filter((problem) => holder.live?.hooks.some((id) => blames(id)(problem)));
        await holder.live?.remove();
        holder.live = undefined;
        const error = new HookgateError({ code: "PLUGIN_HOOKS", message: own.map(problemText).join("; ") });
        report(holder, error, { isRefused: true });
      }
    }
  }

  async function loadAll(): Promise<PluginInfo[]> {
    await watchAll();
    for (const holder of holders) {
      if (!holder.entry.enabled || isStopped) continue;
      // One after the other, each in place before the next is set up.
      const prepared = await prepareAside(holder);
      try {
        if ("error" in prepared) throw prepared.error;
        for (const placement of put(prepared, { isReload: false, checked: false })) await placement.settle();
      } catch (error) {
        report(holder, error, { isRefused: mayDependOnOthers(prepared) });
        if ("candidate" in prepared) await over(prepared.candidate, around);
      }
    }
    await checkAll();
    await watchAll();
    return list();
  }

  /** All are prepared aside; then, in one turn of the event loop, all are put in place and `accept` says whether they stay. True when something was changed. */
  async function exchange(
    { file, entries, onlyChanged, onlyRefused = false }: PluginsChange & { onlyRefused?: boolean },
    accept: () => void,
  ): Promise<boolean> {
    version++;
    const next = entries === undefined ? holders.filter(({ isGone }) => !isGone) : entries.map(successorOf);
    const isListed = ({ entry }: Holder) => next.some((one) => one.entry.module === entry.module);
    around.leaving = new Set(holders.flatMap((one) => (one.live && !isListed(one) ? one.live.id : [])));
    const wanted = next.filter(
      (holder) =>
        holder.entry.enabled &&
        (holder.isRefused ||
          (!onlyRefused &&
            (file === undefined || holder.files.includes(file)) &&
            !(onlyChanged && holder.live !== undefined && isAsBefore(holder)))),
    );
    const aside = wanted.map((holder) => (entries === undefined ? { ...holder } : holder));
    const prepared: Prepared[] = [];
    await watchAll([...holders, ...next]);
    for (const holder of aside) if (!isStopped) prepared.push(await prepareAside(holder));
    const placements: Placement[] = [];
    const before = holders;
    const known = new Set(registry.validate().map(problemKey));
    // From here on they are in the registry, or nowhere.
    around.pointsAside.length = 0;
    try {
      holders = next.map((holder) => aside[wanted.indexOf(holder)] ?? holder);
      for (const [index, one] of before.entries())
        if (one.live && !isListed(one)) holders.splice(index, 0, { ...one, isGone: true });
      const kept = new Set(holders.map(({ live }) => live));
      for (const one of before) if (one.live && !kept.has(one.live)) placements.push(withdraw(one.live, one));
      placements.push(...putAll(prepared, onlyRefused));
      const isGoneNow = ({ live, isGone }: Holder) => isGone && (live === undefined || missing().length === 0);
      for (const one of holders) if (one.live && isGoneNow(one)) placements.push(withdraw(one.live, one));
      holders = holders.filter((one) => !isGoneNow(one));
      arrange();
      accept();
    } catch (error) {
      for (const placement of placements.reverse()) placement.takeBack();
      holders = before;
      arrange();
      for (const one of prepared) if ("candidate" in one) await over(one.candidate, around);
      throw error;
    }
    options.onReloaded?.();
    for (const problem of registry.validate())
      if (!known.has(problemKey(problem))) logger.warn({ code: problem.code, hooks: problem.ids }, problem.message);
    for (const placement of placements) await placement.settle();
    await watchAll();
    return placements.some(({ isRefusal }) => !isRefusal);
  }

  /** What was refused because of another plugin, such as for a point that it did not declare, is tried again when others are in place. */
  async function exchangeAll(change: PluginsChange, accept: () => void): Promise<PluginInfo[]> {
    let hasChanged = await exchange(change, accept);
    while (hasChanged && !isStopped && holders.some(({ isRefused }) => isRefused))
      hasChanged = await exchange({ onlyRefused: true }, () => {});
    return list();
  }

  /** Among equals of priority hooks run in the order of `plugins:`, as after a start, regardless of which one a reload added. */
  function arrange(): void {
    registry.arrange(
      holders.flatMap(({ live }) => live?.hooks ?? []),
      "first",
    );
  }

  function successorOf(entry: PluginEntry): Holder {
    const same = holders.find((holder) => holder.entry.module === entry.module);
    return same && entry.enabled ? { ...same, entry, isGone: false } : holderFor(entry, baseDir);
  }

  function isAsBefore({ entry }: Holder): boolean {
    return holders.some((holder) => !holder.isGone && isDeepStrictEqual(holder.entry, entry));
  }

  /** Before they are read, too: a file that comes meanwhile is a change. */
  async function watchAll(those = holders): Promise<void> {
    await watch?.set(those.flatMap((holder) => (holder.entry.enabled ? holder.files : [])));
  }

  function reload(change: PluginsChange = {}, accept: () => void = () => {}): Promise<PluginInfo[]> {
    return takeTurn(async () => (isStopped ? list() : exchangeAll(change, accept)));
  }

  /** Why the version at work would not load again; a start finds that too late. */
  function lost({ live }: Holder): string | undefined {
    if (live === undefined) return undefined;
    const declared = new Set(holders.flatMap((holder) => holder.live?.points ?? []));
    for (const id of live.hooks) {
      const point = registry.get(id)?.hook ?? "";
      if (point.startsWith("plugin:") && !declared.has(point))
        return `"${id}" is registered at ${point}, which no plugin declares any more: it never fires, and the next start cannot load this plugin. Declare the point again, or remove the hook.`;
    }
    return undefined;
  }

  /** Modules of the list that are to be loaded and are not. */
  function missing(): string[] {
    return holders.flatMap(({ entry, live, isGone }) => (entry.enabled && !live && !isGone ? entry.module : []));
  }

  /** In the order of the configuration; then those that it does not list any more. */
  function list(): PluginInfo[] {
    const listedFirst = [...holders].sort((one, other) => Number(one.isGone) - Number(other.isGone));
    return listedFirst.map((holder) => {
      const staysFor = holder.isGone ? missing() : undefined;
      const reason = staysFor
        ? `${holder.live?.id} stays loaded, because ${staysFor.join(", ")} cannot be loaded; a restart leaves it out`
        : holder.reason;
      const reasons = [reason, lost(holder)].filter((one) => one !== undefined);
      return { ...infoOf(holder, reasons.length === 0 ? undefined : reasons.join(" ")), staysFor };
    });
  }

  function infoOf({ entry, live, file, loadedAt, isCritical, isGone }: Holder, reason: string | undefined): PluginInfo {
    return {
      module: entry.module,
      file,
      id: live?.id,
      state: entry.enabled ? (live ? "loaded" : "broken") : "off",
      reason,
      // One that stays is at work, and nothing is lost with the list as it is.
      critical: !isGone && (entry.critical || isCritical),
      hooks: live?.hooks ?? [],
      warnings: live?.warnings ?? [],
      points: live?.points ?? [],
      hasRoute: live !== undefined && routes.has(live.id),
      loadedAt,
    };
  }

  let isLoaded = false;
  return {
    load: () =>
      takeTurn(async () => {
        const infos = isLoaded ? await exchangeAll({}, () => {}) : await loadAll();
        isLoaded = true;
        const broken = infos.filter((info) => info.critical && info.state === "broken");
        if (broken.length === 0) return infos;
        throw new HookgateError({
          code: "PLUGIN_CRITICAL",
          message: broken
            .map(({ module, reason }) => `The critical plugin ${module} cannot be loaded: ${reason}`)
            .join("\n"),
          hint: "Repair it, or remove `critical: true` from its entry in the configuration and from its hooks.",
        });
      }),
    reload,
    list,
    routes,
    commands: () => [...commands.values()].flat(),
    async stop() {
      isStopped = true;
      watch?.stop();
      await takeTurn(async () => {
        // At once: teardowns that do not end hold up the stop once, not one after the other.
        await Promise.all(holders.map((holder) => holder.live?.end()));
      });
    },
  };
}

/** It was set up and not put in place, or setup asked for what another plugin has or lacks, such as a point or the name of a command. */
function mayDependOnOthers(prepared: Prepared): boolean {
  if ("candidate" in prepared) return true;
  const { error } = prepared;
  const cause = error instanceof HookgateError && error.code === "PLUGIN_SETUP" ? error.cause : undefined;
  return cause instanceof HookgateError && cause.code !== EXIT_CALLED;
}

/** The first id of a problem is the hook that has it; a cycle is everybody's in it. */
function blames(hookId: string): (problem: Problem) => boolean {
  return ({ code, ids }) => (code === "DEPENDENCY_CYCLE" ? ids.includes(hookId) : ids[0] === hookId);
}

function holderFor(entry: PluginEntry, baseDir: string): Holder {
  return {
    entry,
    live: undefined,
    file: undefined,
    files: [resolve(baseDir, entry.module)],
    reason: undefined,
    isRefused: false,
    isCritical: undefined,
    isGone: false,
    loadedAt: undefined,
  };
}
