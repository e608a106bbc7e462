/** The plugins of a gateway: loaded in the order of the configuration, reloaded one by one, each failure reported and contained. */
import { isDeepStrictEqual } from "node:util";
import type { KeyValueStore } from "../domain/store.js";
import type { Command } from "../gateway/commands.js";
import type { Route, Routes } from "../gateway/routes.js";
import { isUnfit } from "../hooks/registration/validate.js";
import type { HookRegistry, Problem } from "../hooks/registry.js";
import { inTurn } from "../lib/concurrency/in-turn.js";
import { HookgateError } from "../lib/errors.js";
import { localFiles } from "../lib/files/fresh-imports.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { HookBreaker } from "./breaker.js";
import type { PluginEntry } from "./config.js";
import { blames, type Holder, holderFor, mayDependOnOthers, missingPoint, type Prepared } from "./holder.js";
import { infosOf, lostCriticalOf, missingOf, type PluginInfo } from "./infos.js";
import { findModule } from "./load.js";
import { Placing } from "./placing.js";
import { over, type Placement, prepare, problemKey, problemText, type Surroundings } from "./reload.js";
import type { GatewayFunctions } from "./stage.js";
import { watchFiles } from "./watch.js";

export interface PluginsOptions {
  entries: readonly PluginEntry[];
  /** The folder of the configuration file: paths are relative to it. */
  baseDir: string;
  registry: HookRegistry;
  /** Called when a plugin sends; a gateway that is made later can be reached through a closure. */
  gateway: GatewayFunctions;
  keyValue: KeyValueStore;
  /** Names of the product's own commands, which plugins cannot take. */
  reservedCommands?: ReadonlySet<string>;
  /** Keeps a hook that never answers from being called each time. */
  breaker?: HookBreaker;
  /** The time limit of a plugin's teardown. Default: 10 seconds. */
  teardownTimeoutMs?: () => number;
  clock: Clock;
  logger: Logger;
  /** Called before a plugin's module is imported and set up, with the module as the configuration names it. */
  onPrepare?: (module: string) => void;
  /** The function that a plugin's setup returned failed, or does not end. */
  onEndFailed?: (pluginId: string, message: string) => void;
  /** See `PluginsChange.unfit`. */
  unfit?: () => readonly Problem[];
  /** Called after a reload has put plugins in place: their hooks may have changed. */
  onReloaded?: () => void;
  /** Called when a file that is watched was saved, after its plugins were reloaded, with those that have a new problem since then. */
  onSaved?: (troubled: readonly PluginInfo[]) => void;
  /** Reload a plugin when its file, or a local file that it imports, changes. Default: true. */
  watch?: boolean;
}

export interface PluginsChange {
  /** Reloads the plugins from this file, and those that import it. */
  file?: string;
  /** The configuration's new list. */
  entries?: readonly PluginEntry[];
  /** Reloads only plugins that are new, changed in the list, or broken; others stay as they are. */
  onlyChanged?: boolean;
  /**
   * Configured hooks that are in force and, as they are written, do not fit the points as they are declared now. Default: that of the
   * options.
   */
  unfit?: () => readonly Problem[];
}

export interface Plugins {
  /** Loads all plugins; rejects with PLUGIN_CRITICAL when a `critical` one is broken. A second call reloads them. */
  load(): Promise<PluginInfo[]>;
  /**
   * New versions of all, or of those that `change` names. Failures are in the list and the log: a plugin that fails stays as it was
   * and stops no other. `accept` is called when all are in place, in the same turn of the event loop; when it throws, everything is
   * as it was before, and that is the rejection.
   */
  reload(change?: PluginsChange, accept?: () => void): Promise<PluginInfo[]>;
  list(): PluginInfo[];
  /** Names of the points that plugins at work declare. */
  points(): string[];
  /** For the gateway's default route. */
  readonly routes: Routes;
  /** The commands of plugins at work. */
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
  /** The dependencies of a plugin's versions. */
  readonly #around: Surroundings;
  readonly #placing: Placing;
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
    this.#watch =
      options.watch === false ? undefined : watchFiles(clock, (file) => void this.#saved(file, options.onSaved));
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
        ...lostCriticalOf(this.#holders),
        ...this.#unfitOfFiles(),
      ],
    };
    this.#placing = new Placing(this.#around, () => this.#holders);
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

  async #saved(file: string, onSaved: PluginsOptions["onSaved"]): Promise<void> {
    const before = this.list();
    const infos = await this.reload({ file });
    const wasKnown = (one: PluginInfo) =>
      before.some(({ module, reason }) => module === one.module && reason === one.reason);
    if (!this.#isStopped) onSaved?.(infos.filter((one) => one.reason !== undefined && !wasKnown(one)));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watch?.stop();
    await this.#takeTurn(async () => {
      // At once: teardowns that do not end hold up the stop once, not one after the other.
      await Promise.all(this.#holders.map((holder) => holder.live?.end()));
    });
  }

  /** Imports a plugin and sets it up aside: nothing of it is in place yet. */
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

  /** A plugin that lacked a point is set up again when another plugin has declared that point after it. */
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

  /** Plugins may name each other's hooks, so the order is checked when all are in place; a plugin in a circle is taken out. */
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
        this.#placing.report(holder, error, { isRefused: true });
      }
    }
  }

  /**
   * Sets plugins up one after the other, each in place before the next. Refused ones are tried again when others came after them, as after
   * a reload.
   */
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
          for (const placement of this.#placing.put(prepared, { isReload: false, checked: false }))
            await placement.settle();
          hasHelp ||= refused.size > 0;
        } catch (error) {
          if (mayDependOnOthers(prepared)) refused.set(holder, error);
          else this.#placing.report(holder, error, { isRefused: false });
          if ("candidate" in prepared) await over(prepared.candidate, this.#around);
        }
      }
      left = [...refused.keys()];
      this.#version++;
    } while (hasHelp && !this.#isStopped);
    // The plugins that are left may be registered at each other's points.
    const together = refused.size > 1 ? await this.#prepareAll([...refused.keys()]) : [];
    this.#around.pointsAside.length = 0;
    if (together.length === 0)
      for (const [holder, error] of refused) this.#placing.report(holder, error, { isRefused: true });
    for (const placement of this.#placing.putAll(together, false)) await placement.settle();
    await this.#checkAll();
    this.#arrange();
    await this.#watchAll();
    return this.list();
  }

  /**
   * Prepares all plugins aside; then puts all in place in one turn of the event loop, and `accept` decides whether they stay. True when
   * something changed.
   */
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
    // From here on the points are in the registry, or nowhere.
    this.#around.pointsAside.length = 0;
    try {
      this.#holders = next.map((holder) => aside[wanted.indexOf(holder)] ?? holder);
      for (const [index, one] of before.entries())
        if (one.live && !isListed(one)) this.#holders.splice(index, 0, { ...one, isGone: true });
      const kept = new Set(this.#holders.map(({ live }) => live));
      for (const one of before)
        if (one.live && !kept.has(one.live)) placements.push(this.#placing.withdraw(one.live, one));
      placements.push(...this.#placing.putAll(prepared, onlyRefused));
      const isGoneNow = ({ live, isGone }: Holder) =>
        isGone && (live === undefined || missingOf(this.#holders).length === 0);
      for (const one of this.#holders)
        if (one.live && isGoneNow(one)) placements.push(this.#placing.withdraw(one.live, one));
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

  /**
   * Plugins that were refused because of another plugin, for example for a point that it did not declare, are tried again when others are
   * in place.
   */
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

  /** Watches files before they are read, too: a file that appears meanwhile is a change. */
  async #watchAll(those = this.#holders): Promise<void> {
    await this.#watch?.set([...filesOf(those), ...this.#filesNotAccepted]);
  }

  reload(change: PluginsChange = {}, accept: () => void = () => {}): Promise<PluginInfo[]> {
    return this.#takeTurn(async () => (this.#isStopped ? this.list() : this.#exchangeAll(change, accept)));
  }

  list(): PluginInfo[] {
    return infosOf(this.#holders, this.#routes);
  }

  points(): string[] {
    return this.#holders.flatMap(({ live }) => live?.points ?? []);
  }
}

const filesOf = (holders: readonly Holder[]) => holders.flatMap(({ entry, files }) => (entry.enabled ? files : []));
