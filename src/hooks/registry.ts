/**
 * The hook registry: which hooks are registered at which points, and the one place where hook points fire. Its types come from the list of
 * points.
 */
import type { DispatchRecord, JournalPort } from "../domain/journal.js";
import { DeadlineWheel } from "../fast/deadline-wheel.js";
import { InFlight } from "../lib/concurrency/in-flight.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { type Clock, systemClock } from "../lib/time/clock.js";
import { valueProblem } from "../lib/validation/value-problem.js";
import { type BackgroundPort, inMemoryBackground } from "./background.js";
import { runBackground } from "./background-run.js";
import { type Catalogue, catalogue } from "./catalogue/index.js";
import { consoleLogger } from "./console-logger.js";
import type { PhaseLimits } from "./dispatch/turn.js";
import { RESOLVED } from "./dispatch/void.js";
import { type ExplainOptions, type Explanation, explainEntry } from "./explain.js";
import {
  runBeforeSync,
  startAfter,
  startAny,
  startBefore,
  startClaiming,
  startModifying,
  startTurn,
  startVoid,
} from "./fire.js";
import type { Kernel, PluginLimits } from "./kernel.js";
import { type DispatchOptions, filtered } from "./options.js";
import type { LifecyclePhase, Model } from "./point.js";
import { NOTHING_SET, promised, UNCLAIMED } from "./promised.js";
import { resolveAlias } from "./registration/aliases.js";
import { infoOf } from "./registration/entry.js";
import type { FormerChats } from "./registration/matcher.js";
import type { HookInfo, RegisterOptions, TurnOptions } from "./registration/registration.js";
import { type Applicant, type Override, Roster } from "./registration/roster.js";
import { type Problem, unawaitedEntries, validateEntries } from "./registration/validate.js";
import { cutOffRunning, type RunningHook, runningHooks } from "./running.js";
import type {
  AnyPoint,
  BeforeResult,
  Canonical,
  Checked,
  Claimed,
  ClaimingHandler,
  ClaimingOptions,
  Known,
  ModifyingHandler,
  ModifyingOptions,
  NameOf,
  PayloadOf,
  PhaseResult,
  Points,
  Registration,
  ResultAt,
  ResultOf,
  TurnHandler,
  VoidHandler,
  VoidOptions,
} from "./signatures.js";

export type { Override, Problem };

export interface RegistryOptions<P extends Points> {
  /** Instead of the product's catalogue. */
  points?: P;
  journal?: JournalPort;
  /** Warnings and errors go to the console when there is none. */
  logger?: Logger;
  clock?: Clock;
  overrides?: Readonly<Record<string, Override>>;
  /** Where background runs are recorded; in memory when absent. */
  background?: BackgroundPort;
  /** Which plugins' hooks may run for a conversation (a formatted address), where the caller sets none; undefined: all. */
  allowedPlugins?: (conversation: string) => readonly string[] | undefined;
  limits?: PluginLimits;
  /** The ids that a chat had before: `match.chats` accepts them, too. */
  formerChats?: FormerChats;
  /** Called with the id of a plugin's hook that gave no answer before its deadline, and whether it ran for a stranger's message. */
  onTimeout?: (hookId: string, isOfStranger: boolean) => void;
}

export type Unregister = () => void;

export class HookRegistry<P extends Points = Catalogue> {
  readonly #kernel: Kernel;
  readonly #roster: Roster;

  constructor(options: RegistryOptions<P> = {}) {
    const clock = options.clock ?? systemClock;
    const logger = options.logger ?? consoleLogger;
    const background = options.background ?? inMemoryBackground(clock, logger);
    const wheel = new DeadlineWheel(clock);
    const waits = { wheel, sequence: [], void: [] };
    const detached = new InFlight();
    const { journal, allowedPlugins, limits, onTimeout } = options;
    const isStopping = false;
    const common = { clock, logger, wheel, waits, detached, journal, background };
    this.#kernel = { ...common, allowedPlugins, limits, onTimeout, isStopping };
    this.#roster = new Roster(options.overrides ?? {}, clock, options.formerChats);
    for (const point of options.points ?? catalogue) this.#roster.declare(point);
    background.serve((run, attempt) => runBackground(this.#kernel, this.#roster.entries.get(run.hookId), run, attempt));
  }

  /* ── registering ─────────────────────────────────────────────────────────────────────────────────────────────── */

  registerVoid<N extends NameOf<P, "void">>(
    hook: N,
    handler: NoInfer<VoidHandler<PayloadOf<P, N>, Canonical<N>>>,
    options: VoidOptions = {},
  ): Unregister {
    return this.#add({ hook, handler, options, model: "void" });
  }

  registerModifying<
    N extends NameOf<P, "modifying">,
    H extends ModifyingHandler<PayloadOf<P, N>, ResultOf<P, N>, Canonical<N>>,
  >(
    hook: N,
    handler: H & Known<H, ResultAt<P, N>>,
    options: NoInfer<ModifyingOptions<ResultOf<P, N>>> = {},
  ): Unregister {
    return this.#add({ hook, handler, options, model: "modifying" });
  }

  registerClaiming<
    N extends NameOf<P, "claiming">,
    H extends ClaimingHandler<PayloadOf<P, N>, ResultOf<P, N>, Canonical<N>>,
  >(
    hook: N,
    handler: H & Known<H, ResultAt<P, N>>,
    options: NoInfer<ClaimingOptions<ResultOf<P, N>>> = {},
  ): Unregister {
    return this.#add({ hook, handler, options, model: "claiming" });
  }

  registerTurn<N extends NameOf<P, "turn">>(
    phase: N,
    handler: NoInfer<TurnHandler<PayloadOf<P, N>, Canonical<N>>>,
    options: TurnOptions = {},
  ): Unregister {
    return this.#add({ hook: phase, handler, options, model: "turn" });
  }

  /** Any point: a lifecycle handler with its `phase`, or the handler of the point's own model. */
  register<N extends NameOf<P, Model>, R extends Registration<P, N>>(registration: Checked<P, N, R>): Unregister {
    const { hook, handler, phase, ...options } = registration as RegisterOptions & {
      hook: string;
      handler: unknown;
      phase?: LifecyclePhase;
    };
    return this.#add({ hook, handler, options, phase });
  }

  #add(applicant: Applicant): Unregister {
    const entry = this.#roster.add(applicant);
    return () => this.#roster.remove(entry);
  }

  /* ── firing ──────────────────────────────────────────────────────────────────────────────────────────────────── */

  /** Resolves when all have settled. Rejects with `HookFailedError` when one was fail-closed and failed. */
  fireVoid<N extends NameOf<P, "void">>(
    hook: N,
    payload: PayloadOf<P, N>,
    allowedPlugins?: readonly string[],
    options?: DispatchOptions,
  ): Promise<void> {
    const handlers = this.#roster.firing(hook, "void");
    if (handlers.main.length === 0 && options?.recordEmpty !== true) return RESOLVED;
    return startVoid(this.#kernel, handlers, payload, filtered(options, allowedPlugins));
  }

  /** Whether anybody is registered at a point that is no lifecycle point. */
  isHeard(hook: NameOf<P, Exclude<Model, "lifecycle">>): boolean {
    return this.#roster.at(hook).main.length > 0;
  }

  /** Resolves with the fields that the handlers set. */
  fireModifying<N extends NameOf<P, "modifying">>(
    hook: N,
    payload: PayloadOf<P, N>,
    allowedPlugins?: readonly string[],
    options?: DispatchOptions,
  ): Promise<Partial<ResultOf<P, N>>> {
    return promised(this.modify(hook, payload, filtered(options, allowedPlugins)));
  }

  /** The same, and at once when no handler has to be waited for. */
  modify<N extends NameOf<P, "modifying">>(
    hook: N,
    payload: PayloadOf<P, N>,
    options?: DispatchOptions,
  ): Partial<ResultOf<P, N>> | Promise<Partial<ResultOf<P, N>>> {
    const handlers = this.#roster.firing(hook, "modifying");
    if (handlers.main.length === 0 && options?.recordEmpty !== true) return NOTHING_SET as Partial<ResultOf<P, N>>;
    return startModifying(this.#kernel, handlers, payload, options) as Partial<ResultOf<P, N>>;
  }

  /** Resolves with the first claim and who made it, or `{ handled: false }`. */
  fireClaiming<N extends NameOf<P, "claiming">>(
    hook: N,
    payload: PayloadOf<P, N>,
    allowedPlugins?: readonly string[],
    options?: DispatchOptions,
  ): Promise<Claimed<ResultOf<P, N>>> {
    return promised(this.claim(hook, payload, filtered(options, allowedPlugins)));
  }

  /** The same, and at once when no handler has to be waited for. */
  claim<N extends NameOf<P, "claiming">>(
    hook: N,
    payload: PayloadOf<P, N>,
    options?: DispatchOptions,
  ): Claimed<ResultOf<P, N>> | Promise<Claimed<ResultOf<P, N>>> {
    const handlers = this.#roster.firing(hook, "claiming");
    if (handlers.main.length === 0 && options?.recordEmpty !== true) return UNCLAIMED as Claimed<ResultOf<P, N>>;
    return startClaiming(this.#kernel, handlers, payload, options) as Claimed<ResultOf<P, N>>;
  }

  /** The data that comes back is a copy: the caller goes on with it, not with the data that it passed in. */
  runBefore<N extends NameOf<P, "lifecycle">>(
    hook: N,
    data: PayloadOf<P, N>,
    options?: DispatchOptions,
  ): Promise<BeforeResult<PayloadOf<P, N>>> {
    const handlers = this.#roster.firing(hook, "lifecycle");
    if (handlers.main.length === 0 && options?.recordEmpty !== true) return Promise.resolve({ cancelled: false, data });
    return promised(startBefore(this.#kernel, handlers, data, options) as BeforeResult<PayloadOf<P, N>>);
  }

  /** Resolves when all have settled; never rejects for what a handler does. */
  runAfter<N extends NameOf<P, "lifecycle">>(hook: N, data: PayloadOf<P, N>, options?: DispatchOptions): Promise<void> {
    const handlers = this.#roster.firing(hook, "lifecycle");
    if (handlers.after.length === 0 && options?.recordEmpty !== true) return RESOLVED;
    return startAfter(this.#kernel, handlers, data, options);
  }

  /** For hot paths that cannot wait. */
  runBeforeSync<N extends NameOf<P, "lifecycle">>(
    hook: N,
    data: PayloadOf<P, N>,
    options?: DispatchOptions,
  ): BeforeResult<PayloadOf<P, N>> {
    const handlers = this.#roster.firing(hook, "lifecycle");
    if (handlers.main.length === 0) return { cancelled: false, data };
    return runBeforeSync(this.#kernel, handlers, data, options) as BeforeResult<PayloadOf<P, N>>;
  }

  /** Rejects with `HookFailedError` when a required or fail-closed hook failed: the turn must stop. */
  runPhase<N extends NameOf<P, "turn">>(
    phase: N,
    request: PayloadOf<P, N>,
    options?: DispatchOptions & PhaseLimits,
  ): Promise<PhaseResult> {
    const handlers = this.#roster.firing(phase, "turn");
    if (handlers.main.length === 0 && options?.recordEmpty !== true)
      return Promise.resolve({ contributions: [], diagnostics: [], runs: [] });
    return startTurn(this.#kernel, handlers, request, options);
  }

  /** Fires any point by name and resolves with the whole record, also when a fail-closed handler failed. For `/fire-hook` and `/replay`. */
  async dispatch(
    hook: string,
    payload: unknown,
    options: DispatchOptions & { phase?: LifecyclePhase } = {},
  ): Promise<DispatchRecord> {
    const handlers = this.#roster.at(hook);
    const { name, payload: schema } = handlers.point;
    const checked = schema.safeParse(payload);
    if (!checked.success)
      throw new HookgateError({
        code: "HOOK_PAYLOAD_INVALID",
        message: `This is no payload of ${name}: ${valueProblem(schema, payload)}`,
        hint: "`npx hookgate points --json` has an example of each.",
      });
    return startAny(
      this.#kernel,
      handlers,
      checked.data,
      options,
      options.phase ?? resolveAlias(hook).phase ?? "before",
    );
  }

  /* ── points ──────────────────────────────────────────────────────────────────────────────────────────────────── */

  /** Adds a point. A point of the same name is replaced while no hook is registered there. Returns this registry, typed with it. */
  declare<One extends AnyPoint>(point: One): HookRegistry<readonly [...P, One]>;
  declare(point: AnyPoint): unknown {
    this.#roster.declare(point);
    return this;
  }

  /** Where the handler of a hook is registered now: for its failures, which show it. */
  setPlace(id: string, place: string | undefined): void {
    const entry = this.#roster.entries.get(id);
    if (entry === undefined) return;
    entry.place = place;
    // Another version of the handler may be wrong in the same way.
    entry.warnings = undefined;
  }

  /** Takes a point away. Throws HOOK_POINT_IN_USE while a hook is registered there. */
  withdraw(name: string): void {
    this.#roster.withdraw(name);
  }

  get points(): readonly AnyPoint[] {
    return [...this.#roster.points.values()].map(({ point }) => point);
  }

  /** The point of this name or alias; throws `UnknownHookError`. */
  point(name: string): AnyPoint {
    return this.#roster.at(name).point;
  }

  /* ── administration ──────────────────────────────────────────────────────────────────────────────────────────── */

  get size(): number {
    return this.#roster.entries.size;
  }

  list(): HookInfo[] {
    return [...this.#roster.entries.values()].map(infoOf);
  }

  get(id: string): HookInfo | undefined {
    const entry = this.#roster.entries.get(id);
    return entry === undefined ? undefined : infoOf(entry);
  }

  /** The runs that are waited for at this moment, the longest first. */
  running(): RunningHook[] {
    return runningHooks(this.#kernel.wheel);
  }

  /** False when there is no such hook. Holds from the next handler's turn on, in dispatches under way too. */
  setEnabled(id: string, enabled: boolean): boolean {
    const entry = this.#roster.entries.get(id);
    if (entry === undefined) return false;
    this.#roster.switch(entry, enabled);
    return true;
  }

  /** Whether the registration itself enables the hook, whatever the operator set; undefined when there is no such hook. */
  declaredEnabled(id: string): boolean | undefined {
    const entry = this.#roster.entries.get(id);
    return entry && (entry.options.enabled ?? true);
  }

  /**
   * Takes a registration out for dispatches to come, to make room for another of its id. A dispatch that is under way still calls it,
   * so that the work that it guards is not without a guard for a moment. False when there is no such hook.
   */
  retire(id: string): boolean {
    const entry = this.#roster.entries.get(id);
    if (entry !== undefined) this.#roster.retire(entry);
    return entry !== undefined;
  }

  /**
   * Whether a hook at a point runs within the dispatch itself, not from a record. `phase`: of a lifecycle point. False for a point that
   * is not there.
   */
  hasWaiting(hook: string, phase: LifecyclePhase = "before"): boolean {
    const handlers = this.#roster.points.get(hook);
    const entries = phase === "after" ? handlers?.after : handlers?.main;
    return entries?.some(({ execution }) => execution !== "background") ?? false;
  }

  /** Whether a hook at a point lets nothing pass when it fails. `phase`: of a lifecycle point. */
  hasFailClosed(hook: string, phase: LifecyclePhase = "before"): boolean {
    const handlers = this.#roster.points.get(hook);
    const entries = phase === "after" ? handlers?.after : handlers?.main;
    return entries?.some(({ closing }) => closing === "closed") ?? false;
  }

  /**
   * Among equals of priority these run in this order: `last` after, `first` before those that were never arranged. Unknown ids are passed
   * over.
   */
  arrange(ids: readonly string[], where: "first" | "last"): void {
    this.#roster.arrange(ids, where);
  }

  /** Applies the `overrides` of a hook after they changed, from now on. An option that they do not set any more is the hook's own again. */
  reconsider(id: string): void {
    this.#roster.reconsider(id);
  }

  /**
   * Gives a function that puts points and registrations back as they are now, for changes that are kept whole or not at all. To be
   * called in the same turn of the event loop.
   */
  mark(): () => void {
    return this.#roster.mark();
  }

  unregisterPlugin(pluginId: string): void {
    for (const entry of [...this.#roster.entries.values()]) if (entry.pluginId === pluginId) this.#roster.remove(entry);
  }

  /**
   * The gateway is stopping from now on: a handler whose program a signal ends, or whose request is aborted, is cut off and has not
   * failed.
   */
  stopping(): void {
    this.#kernel.isStopping = true;
    this.#kernel.background.takeNoMore?.();
  }

  /** Resolves when no run goes on beside its caller (`fire_and_record`). */
  detachedEnded(): Promise<void> {
    return this.#kernel.detached.allEnded();
  }

  /** The stop cuts off all runs, or this run: it is recorded as interrupted, and the caller of its dispatch gets no answer. */
  cutOff(runId?: string): void {
    cutOffRunning(this.#kernel.wheel, runId);
  }

  /**
   * The process may end: handlers that still run are recorded as interrupted, and are not waited for. The journal must still take
   * records.
   */
  close(): void {
    this.cutOff();
    this.#kernel.wheel.close();
  }

  clear(): void {
    for (const entry of [...this.#roster.entries.values()]) this.#roster.remove(entry);
  }

  /** The problems of the registrations taken together; empty when all is well. */
  validate(): Problem[] {
    return validateEntries([...this.#roster.entries.values()]);
  }

  /** The hooks that start after another one by `after` or `before`, and do not wait for its end: warnings. */
  unawaited(): Problem[] {
    return unawaitedEntries([...this.#roster.entries.values()]);
  }

  /** The hooks of a point in order; disabled ones are there, marked so. Both phases of a lifecycle point, unless one is asked for. */
  order(hook: string, phase?: LifecyclePhase): HookInfo[] {
    const handlers = this.#roster.at(hook);
    if (handlers.point.model !== "lifecycle") return handlers.ordered(undefined).map(infoOf);
    const wanted = phase ?? resolveAlias(hook).phase;
    const phases: LifecyclePhase[] = wanted === undefined ? ["before", "after"] : [wanted];
    return phases.flatMap((one) => handlers.ordered(one).map(infoOf));
  }

  /** Why a hook would or would not run for this payload. Throws `HOOK_NOT_FOUND`. */
  explain(hookId: string, payload?: unknown, options: ExplainOptions = {}): Explanation {
    const entry = this.#roster.entries.get(hookId);
    if (entry === undefined)
      throw new HookgateError({
        code: "HOOK_NOT_FOUND",
        message: `There is no hook "${hookId}"`,
        hint: "/hooks lists them.",
      });
    const peers = this.#roster.points.get(entry.point.name)?.ordered(entry.phase) ?? [];
    return { ...explainEntry(entry, peers, payload, options, this.#kernel), stays: this.#roster.stays(entry) };
  }
}
