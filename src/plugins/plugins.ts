/** The plugins of a gateway: loaded in the order of the configuration, reloaded one by one, each failure reported and contained. */
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
import {
  blames,
  type Holder,
  holderFor,
  mayDependOnOthers,
  missingPoint,
  type Prepared,
  type Ready,
} from "./holder.js";
import { failure, findModule } from "./load.js";
import { lostAtStart } from "./lost-points.js";
import {
  type Candidate,
  LivePlugin,
  over,
  type Placement,
  prepare,
  problemKey,
  problemsOf,
  problemText,
  type Surroundings,
} from "./reload.js";
import { HOOK_UNFIT } from "./slots.js";
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
  /** See `PluginsChange.unfit`. */
  unfit?: () => readonly Problem[];
  /** Called after a reload has put plugins in place: their hooks may differ from what they were. */
  onReloaded?: () => void;
  /** Called when a file that is watched was saved, after its plugins were reloaded. */
  onSaved?: () => void;
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
  /** Configured hooks that are in force and, as they are written, do not fit the points as they are declared now. Default: that of the options. */
  unfit?: () => readonly Problem[];
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
  /** Names of the points that those at work declare. */
  points(): string[];
  /** For the gateway's default route. */
  readonly routes: Routes;
  /** The commands of those at work. */
  commands(): readonly Command[];
  stop(): Promise<void>;
}

export function createPlugins(options: PluginsOptions): Plugins {
  return new ConfiguredPlugins(options);
}

class ConfiguredPlugins implements Plugins {
  readonly #options: PluginsOptions;
  readonly #routes = new Map<string, Route>();
  /** By plugin. */
  readonly #commands = new Map<string, readonly Command[]>();
  /** What the versions of a plugin work with. */
  readonly #around: Surroundings;
  readonly #watch: ReturnType<typeof watchFiles> | undefined;
  /** Loads and reloads follow each other, never mix. */
  readonly #takeTurn = inTurn();
  #holders: Holder[];
  /** See `PluginsChange.unfit`. */
  #unfitOfFiles: () => readonly Problem[] = () => [];
  /** Files of a list that was not accepted: its plugins may be the reason. */
  #filesNotAccepted: readonly string[] = [];
  /** Counts reloads: each imports the modules again. */
  #version = 0;
  #isLoaded = false;
  #isStopped = false;

  constructor(options: PluginsOptions) {
    const { entries, baseDir, clock, reservedCommands = new Set(), teardownTimeoutMs = () => 10_000 } = options;
    this.#options = options;
    this.#holders = entries.map((entry) => holderFor(entry, baseDir));
    const saved = (file: string) => void this.reload({ file }).then(() => this.#isStopped || options.onSaved?.());
    this.#watch = options.watch === false ? undefined : watchFiles(clock, saved);
    this.#around = {
      ...options,
      breaker: options.breaker,
      routes: this.#routes,
      commands: this.#commands,
      reservedCommands,
      teardownTimeoutMs,
      pointsAside: [],
      leaving: new Set(),
      unfit: () => [
        ...this.#holders.flatMap(({ live }) => live?.unfit ?? []),
        ...this.#lostCritical(),
        ...this.#unfitOfFiles(),
      ],
    };
  }

  get routes(): Routes {
    return this.#routes;
  }

  commands(): readonly Command[] {
    return [...this.#commands.values()].flat();
  }

  load(): Promise<PluginInfo[]> {
    return this.#takeTurn(async () => {
      const infos = this.#isLoaded ? await this.#exchangeAll({}, () => {}) : await this.#loadAll();
      this.#isLoaded = true;
      const broken = infos.filter((info) => info.critical && info.state === "broken");
      if (broken.length === 0) return infos;
      throw new HookgateError({
        code: "PLUGIN_CRITICAL",
        message: broken
          .map(({ module, reason }) => `The critical plugin ${module} cannot be loaded: ${reason}`)
          .join("\n"),
        hint: "Repair it, or remove `critical: true` from its entry in the configuration and from its hooks.",
      });
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watch?.stop();
    await this.#takeTurn(async () => {
      // At once: teardowns that do not end hold up the stop once, not one after the other.
      await Promise.all(this.#holders.map((holder) => holder.live?.end()));
    });
  }

  /** Imported and set up aside: nothing of it is in place yet. */
  async #prepareAside(holder: Holder): Promise<Prepared> {
    holder.isCritical = undefined;
    try {
      this.#options.onPrepare?.(holder.entry.module);
      const found = findModule(holder.entry.module, this.#options.baseDir);
      holder.file = found.file;
      holder.files = found.file === undefined ? [] : localFiles(found.file);
      const candidate = await prepare(
        holder.entry,
        found,
        this.#around,
        this.#version > 0 ? String(this.#version) : undefined,
        () => {
          holder.isCritical = true;
        },
      );
      holder.isCritical ??= false;
      return { holder, candidate };
    } catch (error) {
      return { holder, error };
    }
  }

  /** One that lacked a point which another declared after it is set up again. */
  async #prepareAll(holders: readonly Holder[]): Promise<Prepared[]> {
    const prepared = new Map<Holder, Prepared>();
    let left = holders;
    while (left.length > 0 && !this.#isStopped) {
      for (const holder of left) if (!this.#isStopped) prepared.set(holder, await this.#prepareAside(holder));
      left = left.filter((holder) => {
        const point = missingPoint(prepared.get(holder));
        return this.#around.pointsAside.some(({ name }) => name === point);
      });
    }
    return [...prepared.values()];
  }

  /** Puts one in place; what it replaces ends when its placement is settled. Throws, with everything as it was. */
  #put({ holder, candidate }: Ready, how: { isReload: boolean; checked: boolean }): Placement[] {
    const { id } = candidate.definition;
    this.#refuseTwice(holder, id);
    const replaced = [holder, ...this.#holders.filter((one) => one.isGone && this.#isReplacedBy(candidate, one.live))];
    const same = replaced.find(({ live }) => live?.id === id)?.live;
    const live = same ?? new LivePlugin(id, this.#around);
    const placed = live.place(candidate, { checked: how.checked });
    const withdrawn = replaced.flatMap((one) => (one.live && one.live !== live ? this.#withdraw(one.live, one) : []));
    const before = replaced.map((one) => ({ ...one }));
    for (const one of replaced) one.live = undefined;
    Object.assign(holder, { live, reason: undefined, isRefused: false, loadedAt: this.#options.clock.now() });
    const takeBack = () => {
      placed.takeBack();
      for (const [index, one] of replaced.entries()) Object.assign(one, before[index]);
    };
    const settle = async () => {
      this.#options.logger.info(
        { plugin: id, module: holder.entry.module, hooks: live.hooks },
        how.isReload && same ? "plugin reloaded" : "plugin loaded",
      );
      // At a start they are in the list of problems, which is logged.
      if (how.isReload)
        for (const warning of live.warnings) this.#options.logger.warn({ plugin: id }, `plugin "${id}": ${warning}`);
      await placed.settle();
    };
    return [{ takeBack, settle }, ...withdrawn];
  }

  /** It has its id, or one of its commands. */
  #isReplacedBy({ definition, stage }: Candidate, live: LivePlugin | undefined): boolean {
    if (live === undefined) return false;
    const own = new Set(this.#commands.get(live.id)?.map(({ name }) => name));
    return live.id === definition.id || stage.commands.some(({ name }) => own.has(name));
  }

  #withdraw(live: LivePlugin, { entry }: Holder): Placement {
    const { id, hooks } = live;
    const { takeBack, settle } = live.withdraw();
    const logAndSettle = () => {
      this.#options.logger.info({ plugin: id, module: entry.module, hooks }, "plugin removed");
      return settle();
    };
    return { takeBack, settle: logAndSettle };
  }

  /** One by one, again while that helps, then those that are left together: they may name each other's hooks. Failures are reported. */
  #putAll(prepared: readonly Prepared[], isRetry: boolean): Placement[] {
    const placements: Placement[] = [];
    const errors = new Map<Prepared, unknown>(prepared.map((one) => [one, "error" in one && one.error]));
    let left = prepared.filter((one) => "candidate" in one);
    let count: number;
    do {
      count = left.length;
      left = left.filter((one) => {
        try {
          placements.push(...this.#put(one, { isReload: true, checked: true }));
          errors.delete(one);
          return false;
        } catch (error) {
          errors.set(one, error);
          return true;
        }
      });
      if (left.length < count) continue;
      const together = this.#putTogether(left);
      placements.push(...together.placements);
      for (const one of together.placed) errors.delete(one);
      left = left.filter((one) => errors.has(one));
    } while (left.length < count);
    for (const [one, error] of errors) this.#report(one.holder, error, { isRefused: mayDependOnOthers(one), isRetry });
    for (const { candidate } of left)
      placements.push({ takeBack: () => {}, settle: () => over(candidate, this.#around), isRefusal: true });
    return placements;
  }

  /** Their points first, as they may be registered at each other's. Without those whose hooks wait for each other even so. */
  #putTogether(candidates: readonly Ready[]): { placed: readonly Ready[]; placements: Placement[] } {
    const { registry } = this.#options;
    const known = new Set(candidates.length > 1 ? problemsOf(this.#around).map(problemKey) : []);
    let wanted = candidates;
    while (wanted.length > 1) {
      const placements: Placement[] = [];
      const takeBackPoints = registry.mark();
      let refused: readonly Ready[] = [];
      try {
        const there = new Set<string>(registry.points.map(({ name }) => name));
        for (const point of wanted.flatMap(({ candidate }) => candidate.stage.points))
          if (!there.has(point.name)) registry.declare(point);
        for (const one of wanted) {
          refused = [one]; // when it fails: that is reported
          placements.push(...this.#put(one, { isReload: true, checked: false }));
        }
        const problems = problemsOf(this.#around).filter((one) => isUnfit(one) && !known.has(problemKey(one)));
        if (problems.length === 0) return { placed: wanted, placements };
        refused = wanted.filter(({ holder }) => holder.live?.hooks.some((id) => problems.some(blames(id))));
      } catch {}
      for (const placement of placements.reverse()) placement.takeBack();
      takeBackPoints();
      if (refused.length === 0) break;
      wanted = wanted.filter((one) => !refused.includes(one));
    }
    return { placed: [], placements: [] };
  }

  #refuseTwice(holder: Holder, id: string): void {
    const other = this.#holders.find((one) => one !== holder && !one.isGone && one.live?.id === id);
    if (other === undefined) return;
    throw failure(
      "PLUGIN_TWICE",
      `the id "${id}" is taken by ${other.entry.module}`,
      "Name a plugin once, or give it another id.",
    );
  }

  #report(holder: Holder, error: unknown, how: { isRefused: boolean; isRetry?: boolean }): void {
    const before = holder.reason;
    const message = errorMessage(error);
    const hint = error instanceof HookgateError && error.hint ? ` ${error.hint}` : "";
    const what = `${message}${/[.?!]$/.test(message) ? "" : "."}${hint}`;
    holder.reason = holder.live ? `the new version failed, the previous one stays in place: ${what}` : what;
    holder.isRefused = how.isRefused;
    if (how.isRetry && holder.reason === before) return;
    const facts = { module: holder.entry.module, file: holder.file, plugin: holder.live?.id, error };
    this.#options.logger.error(facts, holder.live ? `plugin not reloaded: ${what}` : `plugin broken: ${what}`);
  }

  /** Plugins may name each other's hooks, so the order is checked when all are there; one in a circle is taken out. */
  async #checkAll(): Promise<void> {
    for (let round = 0; round <= this.#holders.length; round++) {
      const problems = this.#options.registry.validate().filter(isUnfit);
      const broken = this.#holders.filter((holder) => holder.live?.hooks.some((id) => problems.some(blames(id))));
      if (broken.length === 0) return;
      for (const holder of broken) {
        const own = problems.filter((problem) => holder.live?.hooks.some((id) => blames(id)(problem)));
        await holder.live?.remove();
        holder.live = undefined;
        const error = new HookgateError({ code: "PLUGIN_HOOKS", message: own.map(problemText).join("; ") });
        this.#report(holder, error, { isRefused: true });
      }
    }
  }

  /** One after the other, each in place before the next is set up. What was refused is tried again when others came after it, as after a reload. */
  async #loadAll(): Promise<PluginInfo[]> {
    await this.#watchAll();
    let left: readonly Holder[] = this.#holders.filter(({ entry }) => entry.enabled);
    let refused: Map<Holder, unknown>;
    let hasHelp: boolean;
    do {
      refused = new Map();
      hasHelp = false;
      for (const holder of left) {
        if (this.#isStopped) break;
        const prepared = await this.#prepareAside(holder);
        try {
          if ("error" in prepared) throw prepared.error;
          for (const placement of this.#put(prepared, { isReload: false, checked: false })) await placement.settle();
          hasHelp ||= refused.size > 0;
        } catch (error) {
          if (mayDependOnOthers(prepared)) refused.set(holder, error);
          else this.#report(holder, error, { isRefused: false });
          if ("candidate" in prepared) await over(prepared.candidate, this.#around);
        }
      }
      left = [...refused.keys()];
      this.#version++;
    } while (hasHelp && !this.#isStopped);
    // Those that are left may be registered at each other's points.
    const together = refused.size > 1 ? await this.#prepareAll([...refused.keys()]) : [];
    this.#around.pointsAside.length = 0;
    if (together.length === 0) for (const [holder, error] of refused) this.#report(holder, error, { isRefused: true });
    for (const placement of this.#putAll(together, false)) await placement.settle();
    await this.#checkAll();
    this.#arrange();
    await this.#watchAll();
    return this.list();
  }

  /** All are prepared aside; then, in one turn of the event loop, all are put in place and `accept` says whether they stay. True when something was changed. */
  async #exchange(
    { file, entries, onlyChanged, unfit, onlyRefused = false }: PluginsChange & { onlyRefused?: boolean },
    accept: () => void,
  ): Promise<boolean> {
    this.#version++;
    this.#unfitOfFiles = unfit ?? this.#options.unfit ?? (() => []);
    const next =
      entries === undefined
        ? this.#holders.filter(({ isGone }) => !isGone)
        : entries.map((entry) => this.#successorOf(entry));
    const isListed = ({ entry }: Holder) => next.some((one) => one.entry.module === entry.module);
    this.#around.leaving = new Set(this.#holders.flatMap((one) => (one.live && !isListed(one) ? one.live.id : [])));
    const wanted = next.filter(
      (holder) =>
        holder.entry.enabled &&
        (holder.isRefused ||
          (!onlyRefused &&
            (file === undefined || holder.files.includes(file)) &&
            !(onlyChanged && holder.live !== undefined && this.#isAsBefore(holder)))),
    );
    const aside = wanted.map((holder) => (entries === undefined ? { ...holder } : holder));
    await this.#watchAll([...this.#holders, ...next]);
    const prepared = await this.#prepareAll(aside);
    const placements: Placement[] = [];
    const before = this.#holders;
    const known = new Set(this.#options.registry.validate().map(problemKey));
    // From here on they are in the registry, or nowhere.
    this.#around.pointsAside.length = 0;
    try {
      this.#holders = next.map((holder) => aside[wanted.indexOf(holder)] ?? holder);
      for (const [index, one] of before.entries())
        if (one.live && !isListed(one)) this.#holders.splice(index, 0, { ...one, isGone: true });
      const kept = new Set(this.#holders.map(({ live }) => live));
      for (const one of before) if (one.live && !kept.has(one.live)) placements.push(this.#withdraw(one.live, one));
      placements.push(...this.#putAll(prepared, onlyRefused));
      const isGoneNow = ({ live, isGone }: Holder) => isGone && (live === undefined || this.#missing().length === 0);
      for (const one of this.#holders) if (one.live && isGoneNow(one)) placements.push(this.#withdraw(one.live, one));
      this.#holders = this.#holders.filter((one) => !isGoneNow(one));
      this.#arrange();
      accept();
    } catch (error) {
      for (const placement of placements.reverse()) placement.takeBack();
      this.#holders = before;
      this.#arrange();
      for (const one of prepared) if ("candidate" in one) await over(one.candidate, this.#around);
      this.#filesNotAccepted = filesOf(next);
      await this.#watchAll();
      throw error;
    }
    if (entries !== undefined) this.#filesNotAccepted = [];
    this.#options.onReloaded?.();
    for (const problem of this.#options.registry.validate())
      if (!known.has(problemKey(problem)))
        this.#options.logger.warn({ code: problem.code, hooks: problem.ids }, problem.message);
    for (const placement of placements) await placement.settle();
    await this.#watchAll();
    return placements.some(({ isRefusal }) => !isRefusal);
  }

  /** What was refused because of another plugin, such as for a point that it did not declare, is tried again when others are in place. */
  async #exchangeAll(change: PluginsChange, accept: () => void): Promise<PluginInfo[]> {
    let hasChanged = await this.#exchange(change, accept);
    while (hasChanged && !this.#isStopped && this.#holders.some(({ isRefused }) => isRefused))
      hasChanged = await this.#exchange({ onlyRefused: true }, () => {});
    return this.list();
  }

  /** Among equals of priority hooks run in the order of `plugins:`, as after a start, regardless of which one a reload added. */
  #arrange(): void {
    this.#options.registry.arrange(
      this.#holders.flatMap(({ live }) => live?.hooks ?? []),
      "first",
    );
  }

  #successorOf(entry: PluginEntry): Holder {
    const same = this.#holders.find((holder) => holder.entry.module === entry.module);
    return same && entry.enabled ? { ...same, entry, isGone: false } : holderFor(entry, this.#options.baseDir);
  }

  #isAsBefore({ entry }: Holder): boolean {
    return this.#holders.some((holder) => !holder.isGone && isDeepStrictEqual(holder.entry, entry));
  }

  /** Before they are read, too: a file that comes meanwhile is a change. */
  async #watchAll(those = this.#holders): Promise<void> {
    await this.#watch?.set([...filesOf(those), ...this.#filesNotAccepted]);
  }

  reload(change: PluginsChange = {}, accept: () => void = () => {}): Promise<PluginInfo[]> {
    return this.#takeTurn(async () => (this.#isStopped ? this.list() : this.#exchangeAll(change, accept)));
  }

  points(): string[] {
    return this.#holders.flatMap(({ live }) => live?.points ?? []);
  }

  /** Why versions at work would not load again; a start finds that too late. */
  #lost(): ReturnType<typeof lostAtStart> {
    return lostAtStart(this.#holders.flatMap(({ live }) => live ?? []));
  }

  #lostCritical(): Problem[] {
    const lost = this.#lost();
    return this.#holders.flatMap((holder) => {
      const found = holder.live && lost.get(holder.live);
      if (found === undefined || holder.isGone || !(holder.entry.critical || holder.isCritical)) return [];
      const message = `the critical plugin ${holder.entry.module} would be lost: ${found.why}`;
      return { code: HOOK_UNFIT, message, ids: [found.hookId] };
    });
  }

  /** Modules of the list that are to be loaded and are not. */
  #missing(): string[] {
    return this.#holders.flatMap(({ entry, live, isGone }) => (entry.enabled && !live && !isGone ? entry.module : []));
  }

  /** In the order of the configuration; then those that it does not list any more. */
  list(): PluginInfo[] {
    const lost = this.#lost();
    const listedFirst = [...this.#holders].sort((one, other) => Number(one.isGone) - Number(other.isGone));
    return listedFirst.map((holder) => {
      const staysFor = holder.isGone ? this.#missing() : undefined;
      const reason = staysFor
        ? `${holder.live?.id} stays loaded, because ${staysFor.join(", ")} cannot be loaded; a restart leaves it out`
        : holder.reason;
      const [unfit] = holder.live?.unfit ?? [];
      const lostNow = unfit && `${unfit.message}. The next start cannot load this plugin: change one of both.`;
      const reasons = [reason, lostNow ?? (holder.live && lost.get(holder.live)?.why)].filter(
        (one) => one !== undefined,
      );
      return { ...this.#infoOf(holder, reasons.length === 0 ? undefined : reasons.join(" ")), staysFor };
    });
  }

  #infoOf({ entry, live, file, loadedAt, isCritical, isGone }: Holder, reason: string | undefined): PluginInfo {
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
      hasRoute: live !== undefined && this.#routes.has(live.id),
      loadedAt,
    };
  }
}

const filesOf = (holders: readonly Holder[]) => holders.flatMap(({ entry, files }) => (entry.enabled ? files : []));
