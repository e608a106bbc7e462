/** One firing of a hook point, as far as all five models share it: which hooks are skipped, what a failure does, and what handlers see. */

import { isOfStranger } from "../../domain/chat/access.js";
import { type Cause, isHandId, type Outcome } from "../../domain/journal.js";
import { formatSkipReason } from "../../domain/skip-reason.js";
import type { Armed } from "../../fast/deadline-wheel.js";
import { type IsolationNote, isolate, isolateOwned } from "../../fast/isolate.js";
import { errorPlace } from "../../lib/error-place.js";
import { errorMessage, type HookgateError, lookable } from "../../lib/errors.js";
import { newId } from "../../lib/id.js";
import type { Logger } from "../../lib/logger.js";
import type { BackgroundRun } from "../background.js";
import { HookConditionError, HookFailedError, HookInterruptedError, HookNotCalledError, wasEnded } from "../errors.js";
import type { Kernel } from "../kernel.js";
import type { Firing } from "../options.js";
import type { HookPoint, LifecyclePhase } from "../point.js";
import { Recording, type RunEnd } from "../recording.js";
import type { Entry } from "../registration/entry.js";
import { HookRun, isDeadlineError, lateError, type Settled, stopped } from "../run.js";

/**
 * A dispatch is made for every firing, so it is made cheaply (docs/decisions/10-kernel.md, bench/dispatch.ts). No handler ever holds one.
 * - Fields are private by word only, and get their values in a written constructor.
 * - Few classes extend it: what is assigned here is quick for up to four of them. Models that differ in what they make of
 *   a result are not classes of their own, but rules of one (see sequence.ts).
 */
export abstract class Dispatch implements IsolationNote {
  readonly kernel: Kernel;
  readonly point: HookPoint;
  readonly entries: readonly Entry[];
  readonly phase: LifecyclePhase | undefined;
  readonly firing: Firing | undefined;
  /** Undefined when no record is wanted: then nothing is noted and no clock is read. */
  readonly recording: Recording | undefined;
  /** The fail-closed failure that ends the dispatch. */
  failure: unknown;
  unfreezable: boolean;
  readonly payload: unknown;
  private isolated: unknown;
  private ownId: string | undefined;
  private startedAt: number | undefined;

  constructor(
    kernel: Kernel,
    point: HookPoint,
    entries: readonly Entry[],
    payload: unknown,
    firing: Firing | undefined,
    phase: LifecyclePhase | undefined,
  ) {
    this.kernel = kernel;
    this.point = point;
    this.entries = entries;
    this.phase = phase;
    this.firing = firing;
    this.recording =
      kernel.journal === undefined && firing?.onRecord === undefined && firing?.onRun === undefined
        ? undefined
        : new Recording(kernel.clock, kernel.journal);
    this.payload = payload;
    this.failure = undefined;
    this.unfreezable = false;
    this.isolated = undefined;
    this.ownId = undefined;
    this.startedAt = undefined;
  }

  get id(): string {
    this.ownId ??= this.firing?.dispatchId ?? newId("x", this.kernel.clock.now());
    return this.ownId;
  }
  get logger(): Logger {
    return this.kernel.logger;
  }
  get attempt(): number {
    return this.firing?.attempt ?? 1;
  }
  get dryRun(): boolean {
    return this.firing?.dryRun === true;
  }
  get timestamp(): string {
    this.startedAt ??= this.kernel.clock.now();
    return new Date(this.startedAt).toISOString();
  }
  get cause(): Cause | undefined {
    return this.firing?.cause;
  }
  get recordId(): string | undefined {
    return this.firing?.recordId;
  }
  state(entry: Entry, outcome: Outcome, reason: string | undefined): void {
    this.recording?.state(entry, outcome, reason);
  }
  /** See `HookContext.check`. Where no result is taken, none is refused. */
  check(_entry: Entry, _result: unknown): string | undefined {
    return undefined;
  }
  runIdOf(entry: Entry): string {
    return this.runIdAt(this.entries.indexOf(entry) + 1);
  }
  runIdAt(position: number): string {
    return `${this.id}/${position}`;
  }

  /** The payload as handlers may see it. */
  view(): unknown {
    if (this.isolated === undefined || this.unfreezable)
      this.isolated = (this.firing?.owned === true ? isolateOwned : isolate)(this.payload, this);
    return this.isolated;
  }

  /** The value that `match` is compared with: the one that the handler would see. Where the handler may read only, it is not a copy. */
  protected seenBy(_entry: Entry): unknown {
    return this.payload;
  }

  /** True when it is this entry's turn to run; notes why, when it is not. */
  protected isWanted(entry: Entry): boolean {
    const only = this.firing?.only;
    if (only !== undefined && only !== entry.id) return false;
    if (entry.ready) return true;
    const reason = this.skipReason(entry);
    if (reason === undefined) return true;
    if (reason instanceof HookConditionError) this.unjudged(entry, reason);
    else this.note(entry, undefined, { outcome: "skipped", ...reason });
    return false;
  }

  /** The condition of the hook has no answer: a guard that is not asked must not look like one that agrees. */
  private unjudged(entry: Entry, error: HookConditionError): void {
    const { background } = this.kernel;
    const paused = background.paused?.(entry.id);
    if (paused === undefined) this.failUncalled(entry, error);
    else
      this.note(entry, undefined, { outcome: "skipped", reason: formatSkipReason({ by: "paused", reason: paused }) });
    const why =
      paused === undefined ? { by: "match", reason: error.message, isFailure: true } : { by: "paused", reason: paused };
    const isStored = entry.execution === "background";
    if (!this.dryRun) background.refuse?.(this.backgroundRun(entry), { ...why, isStored });
  }

  /** A failure before its handler was called. */
  protected failUncalled(entry: Entry, error: HookgateError): void {
    this.fail(entry, undefined, error, "failed");
  }

  private allowedPlugins(): readonly string[] | undefined {
    const conversation = this.firing?.conversation;
    if (this.firing?.allowedPlugins !== undefined || conversation === undefined) return this.firing?.allowedPlugins;
    return this.kernel.allowedPlugins?.(conversation);
  }

  /** An error: it is not known whether the hook is to be skipped, and it counts as the failure of the hook. */
  private skipReason(entry: Entry): Pick<RunEnd, "reason" | "unanswered"> | HookConditionError | undefined {
    if (entry.removed) return { reason: "it was removed before its turn" };
    if (!entry.enabled) return { reason: "it was disabled before its turn" };
    if (entry.pluginId !== undefined && this.allowedPlugins()?.includes(entry.pluginId) === false)
      return { reason: `plugin "${entry.pluginId}" is not allowed in this conversation` };
    const { matcher } = entry;
    const startedMs = matcher === undefined ? 0 : this.startMs();
    const mismatch = matcher?.mismatch(this.seenBy(entry), this.firing?.access);
    if (matcher !== undefined) this.conditionEnded(entry, this.startMs() - startedMs);
    if (mismatch === undefined) return undefined;
    // The sender decides how much it is: such a payload must not pass an open hook as if the hook had nothing against it.
    if (mismatch.error !== undefined && (entry.closing !== "open" || mismatch.isTooMuchWork))
      return new HookConditionError(`match.${mismatch.field} has no answer for this payload: ${mismatch.error}`);
    const unanswered = mismatch.error !== undefined;
    if (unanswered && !this.dryRun)
      this.warnOnce(
        entry,
        `match.${mismatch.field} had no answer for a payload, so the hook did not run: ${mismatch.error}. \`npx hookgate hooks why ${entry.id}\` shows each such case.`,
        NO_ANSWER,
      );
    return { reason: `${mismatch.field}: ${mismatch.reason}`, unanswered };
  }

  /** The time of its condition is neither that of the next handler nor of those under way. Known where runs are recorded. */
  private conditionEnded(entry: Entry, tookMs: number): void {
    if (tookMs <= BLOCKS_MS) return;
    this.kernel.wheel.returned(this.nowMs());
    const what = `its condition took ${Math.round(tookMs)} ms and blocked the process meanwhile. Write a shorter one, or decide in a program (run.shell, run.module).`;
    this.warnOnce(entry, what, SLOW);
  }

  /** The dispatch is part of a loop: no hook runs, and the record has the reason. Gives the ids of the hooks that would have run. */
  cut(reason: string): string[] {
    const ids: string[] = [];
    for (const entry of this.entries) {
      if (!this.isWanted(entry)) continue;
      ids.push(entry.id);
      this.note(entry, undefined, { outcome: "skipped", reason: formatSkipReason({ by: "loop", reason }) });
      const isStored = entry.execution === "background";
      if (!this.dryRun) this.kernel.background.refuse?.(this.backgroundRun(entry), { by: "loop", reason, isStored });
    }
    this.recording?.end(this, { outcome: "skipped" });
    return ids;
  }

  /** Monotonic start of a run; 0 when nothing is recorded. */
  protected startMs(): number {
    return this.recording === undefined ? 0 : this.recording.read();
  }

  /** `startedMs`: undefined when it did not run. */
  note(entry: Entry, startedMs: number | undefined, end: RunEnd): void {
    this.recording?.note(this, entry, startedMs, end);
  }

  /**
   * The error of a handler that returned after its deadline; undefined when it was in time. A handler that blocks the process keeps its
   * deadline from being noticed before. Known where runs are recorded. `waited` holds the deadline of one that was waited for: time in
   * which others blocked the process, in turns before this one or until one of them returned, is not charged.
   */
  protected lateError(run: HookRun, startedMs: number, waited?: Armed): unknown {
    const { execution, timeoutMs } = HookRun.entryOf(run);
    if (this.recording === undefined || execution === "background") return undefined;
    const { wheel } = this.kernel;
    const nowMs = this.recording.read();
    const tookMs = nowMs - startedMs;
    const isLate = tookMs > timeoutMs && (waited === undefined || wheel.isPast(waited));
    const isBlocked = isLate && (waited === undefined || wheel.wasBlocked(tookMs - timeoutMs));
    wheel.returned(nowMs);
    return isLate ? lateError(run, tookMs, isBlocked) : undefined;
  }

  nowMs(): number {
    return this.kernel.wheel.nowMs();
  }

  /** A run goes on beside the caller: the record and a stop wait for it. The returned function ends it. */
  protected detach(): () => void {
    const { detached } = this.kernel;
    const recorded = this.recording?.detach(this);
    detached.start();
    return () => {
      recorded?.();
      detached.end();
    };
  }

  /** Notes and reports a failure (`startedMs`: undefined when it was not called), which closes the dispatch if the hook is fail-closed. */
  protected fail(
    entry: Entry,
    startedMs: number | undefined,
    thrown: unknown,
    outcome: "failed" | "timed_out" | "interrupted",
  ): void {
    const error = lookable(thrown);
    this.reportDetached(entry, startedMs, error, outcome);
    if (entry.closing === "closed" && this.failure === undefined)
      this.failure = new HookFailedError({ hook: this.point.name, id: entry.id, cause: error });
  }

  /** A failure of a run that goes on beside the caller, or that a stop cut off: it closes nothing. */
  protected reportDetached(
    entry: Entry,
    startedMs: number | undefined,
    thrown: unknown,
    outcome: "failed" | "timed_out" | "interrupted",
    // A stop is no failure.
    level: "info" | "warn" | "error" = outcome === "interrupted" ? "info" : "error",
  ): void {
    const error = lookable(thrown);
    // The hook did not run, so no run failed; the effect on the dispatch is the same.
    const isRefused = error instanceof HookNotCalledError;
    const isCutOff = outcome === "interrupted";
    const unanswered = error instanceof HookConditionError;
    if (isRefused) this.note(entry, startedMs, { outcome: "skipped", reason: error.message });
    else if (isCutOff) this.note(entry, startedMs, { outcome, reason: errorMessage(error) });
    else this.note(entry, startedMs, { outcome, error, unanswered });
    if (outcome === "timed_out" && entry.pluginId !== undefined && isDeadlineError(error) && !isHandId(this.id))
      this.kernel.onTimeout?.(entry.id, isOfStranger(this.point.name, this.payload));
    const place = errorPlace(error) ?? entry.place;
    const of = { hook: this.point.name, id: entry.id, plugin: entry.pluginId, place, cause: errorMessage(error) };
    const text = `Hook "${entry.id}" ${isRefused ? "was not called" : ENDED[outcome]} at ${this.point.name}`;
    this.kernel.logger[level](isCutOff ? of : { ...of, err: error }, text);
  }

  /** Whether the stop ended the work that a handler waited for: then it has decided nothing, and neither has the dispatch. */
  protected isCutOff(thrown: unknown): boolean {
    return this.kernel.isStopping && wasEnded(thrown);
  }

  /**
   * The end of a run that only its record, or its holder, waits for. A run that an earlier process left unfinished, and that does not
   * happen twice, has not failed.
   */
  protected judged(settled: Settled): Settled {
    if (settled.kind !== "failed") return settled;
    if (this.isCutOff(settled.error)) return { kind: "interrupted", error: stopped() };
    return lookable(settled.error) instanceof HookInterruptedError ? { ...settled, kind: "interrupted" } : settled;
  }

  /** Something of a handler has no effect. */
  warn(entry: Entry, what: string): void {
    const { id, pluginId: plugin, place } = entry;
    this.kernel.logger.warn(
      { hook: this.point.name, id, plugin, place },
      `Hook "${id}" at ${this.point.name}: ${what}`,
    );
  }

  /** Like `warn`, but once for each hook: the point may fire every few seconds, and the journal has every run. */
  warnOnce(entry: Entry, what: string, subject = what): void {
    if (entry.warnings?.has(subject) === true) return;
    entry.warnings ??= new Set();
    entry.warnings.add(subject);
    this.warn(entry, what);
  }

  /** An abandoned promise was rejected. The run's outcome was noted at its deadline. */
  protected ignoreLate(entry: Entry, thrown: unknown): void {
    const error = lookable(thrown);
    const place = errorPlace(error) ?? entry.place;
    this.kernel.logger.debug(
      { hook: this.point.name, id: entry.id, plugin: entry.pluginId, place, err: error },
      `Hook "${entry.id}" failed after its deadline: ${errorMessage(error)}`,
    );
  }

  /** Records a background run, unless this is a dry one. Returns a promise when the port does. */
  protected enqueue(entry: Entry): void | Promise<void> {
    if (this.dryRun) return undefined;
    return this.kernel.background.record(this.backgroundRun(entry))?.then((refusal) => {
      if (typeof refusal === "string") this.state(entry, "skipped", refusal);
    });
  }

  protected backgroundRun(entry: Entry): BackgroundRun {
    const { firing } = this;
    return {
      id: this.runIdOf(entry),
      hookId: entry.id,
      hook: this.point.name,
      payload: this.view(),
      dispatchId: this.id,
      recordedAt: this.kernel.clock.now(),
      idempotent: entry.options.retry ? true : undefined,
      phase: this.phase,
      cause: firing?.cause,
      conversation: firing?.conversation,
      messageId: firing?.messageId,
    };
  }
}

const BLOCKS_MS = 1_000;
const SLOW = "its condition is slow";
const NO_ANSWER = "its condition had no answer";
const ENDED = { failed: "failed", timed_out: "timed out", interrupted: "was interrupted" } as const;

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/** A native promise for any thenable, so that a strange one cannot call back at once or twice. */
export function promiseOf(value: PromiseLike<unknown>): Promise<unknown> {
  return value instanceof Promise ? value : Promise.resolve(value);
}
