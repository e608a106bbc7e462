/**
 * Runs one handler after the other, for modifying, claiming and `before` dispatches, which differ in their rules only.
 *
 * Synchronous until the first thenable. From then on the handlers' promises call back one `Wait`, one after the
 * other; at a deadline the dispatch goes on with another.
 */
import { type SequenceWait, takeSequenceWait } from "../../fast/waits.js";
import type { HookgateError } from "../../lib/errors.js";
import { HookFailedError } from "../errors.js";
import type { Kernel } from "../kernel.js";
import type { Firing } from "../options.js";
import type { HookPoint, LifecyclePhase } from "../point.js";
import type { Entry } from "../registration/entry.js";
import { deadlineError, HookRun, stopped } from "../run.js";
import { Dispatch, isThenable, promiseOf } from "./dispatch.js";
import { decisionIn } from "./no-effect.js";
import { TimedCall } from "./timed-call.js";

/** The rules by which a model uses the results of its handlers. There is one object for each dispatch: it holds the results so far. */
export interface Rules<Result> {
  /** The context of a handler. */
  contextFor(sequence: Sequence<Result>, entry: Entry): HookRun;
  /** The payload with everything merged so far, where handlers merge. */
  mergedView(sequence: Sequence<Result>): unknown;
  /** See `Dispatch.seenBy`; not asked about stored runs, which see the original. */
  seenBy(sequence: Sequence<Result>, entry: Entry): unknown;
  /** Takes in the result of a handler, and notes it; true = no later hook runs. May throw: then the handler failed. */
  absorb(sequence: Sequence<Result>, entry: Entry, value: unknown, startedMs: number, run: HookRun): boolean;
  /** Checks a value as `absorb` does, without an effect: see `HookContext.check`. */
  check(sequence: Sequence<Result>, entry: Entry, value: unknown): string | undefined;
  /** Takes back the changes of a failed handler. */
  revert(run: HookRun): void;
  /** Takes in the fallback of a failed handler, whose failure is already noted; true = no later hook runs. */
  fallBack(sequence: Sequence<Result>, entry: Entry, fallback: unknown): boolean;
  /** Ends the recording and gives the caller's result. */
  conclude(sequence: Sequence<Result>): Result;
}

export class Sequence<Result> extends Dispatch {
  private readonly rules: Rules<Result>;
  /** False when a handler that returned nothing has changed nothing, and no record of the run is wanted. */
  private readonly needsEveryReturn: boolean;
  /** How many entries had their turn. */
  private at: number;
  private isOver: boolean;
  private wait: SequenceWait<HookRun, Entry> | undefined;
  /** The run that is waited for. */
  private awaited: HookRun | undefined;
  private awaitedSinceMs: number;
  private resolve: ((result: Result) => void) | undefined;
  private reject: ((error: unknown) => void) | undefined;
  private unwatch: (() => void) | undefined;

  constructor(
    kernel: Kernel,
    point: HookPoint,
    entries: readonly Entry[],
    payload: unknown,
    firing: Firing | undefined,
    phase: LifecyclePhase | undefined,
    rules: Rules<Result>,
  ) {
    super(kernel, point, entries, payload, firing, phase);
    this.rules = rules;
    this.needsEveryReturn = phase !== undefined || this.recording !== undefined;
    this.at = 0;
    this.isOver = false;
    this.wait = undefined;
    this.awaited = undefined;
    this.awaitedSinceMs = 0;
    this.resolve = undefined;
    this.reject = undefined;
    this.unwatch = undefined;
  }

  start(): Promise<Result> {
    const result = this.run();
    return result instanceof Promise ? result : Promise.resolve(result);
  }

  /** The result itself when no handler has to be waited for. */
  run(): Result | Promise<Result> {
    const signal = this.firing?.signal;
    if (signal !== undefined) {
      if (signal.aborted) return Promise.reject(signal.reason);
      this.watch(signal);
    }
    const pending = this.advance();
    if (pending === undefined) {
      const result = this.end();
      return this.failure === undefined ? result : Promise.reject(this.failure);
    }
    return new Promise<Result>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      this.waitFor(pending);
    });
  }

  /** Runs handlers until one has to be waited for; gives its promise, or undefined at the end. */
  private advance(): Promise<unknown> | undefined {
    const { entries, firing, recording } = this;
    while (this.at < entries.length && !this.isOver) {
      const entry = entries[this.at++] as Entry;
      if ((!entry.ready || firing !== undefined) && !this.isWanted(entry)) continue;
      if (entry.execution === "fire_and_record") {
        this.launch(entry);
        continue;
      }
      const run = this.phase === undefined ? new HookRun(this, entry) : this.rules.contextFor(this, entry);
      const startedMs = recording === undefined ? 0 : recording.readMs;
      let value: unknown;
      let waits: boolean;
      try {
        value = entry.execution === "background" ? this.enqueue(entry) : this.invoke(entry, run);
        waits = value instanceof Promise || isThenable(value);
      } catch (error) {
        this.failed(entry, run, startedMs, error, "failed");
        continue;
      }
      const late = this.lateError(run, startedMs);
      if (late !== undefined) {
        if (waits) promiseOf(value as PromiseLike<unknown>).catch((error) => this.ignoreLate(entry, error));
        this.drop(entry, run, startedMs, late);
        continue;
      }
      if (waits) {
        this.awaited = run;
        this.awaitedSinceMs = startedMs;
        this.wait ??= takeSequenceWait(this.kernel.waits, this);
        this.kernel.wheel.arm(this.wait, entry.timeoutTicks);
        return promiseOf(value as PromiseLike<unknown>);
      }
      if ((value !== undefined && value !== null) || this.needsEveryReturn) this.took(entry, run, startedMs, value);
    }
    return undefined;
  }

  private waitFor(pending: Promise<unknown>): void {
    const { onValue, onError } = this.wait as SequenceWait<HookRun, Entry>;
    pending.then(onValue, onError);
    // The handler itself made the caller give up.
    if (this.isOver) this.giveUp(this.failure);
  }

  private invoke(entry: Entry, run: HookRun): unknown {
    if (this.phase !== undefined) return entry.handler(run);
    return entry.handler(entry.seesMerged ? this.rules.mergedView(this) : this.view(), run);
  }

  protected override seenBy(entry: Entry): unknown {
    return entry.execution === "background" ? this.payload : this.rules.seenBy(this, entry);
  }

  private took(entry: Entry, run: HookRun, startedMs: number, value: unknown): void {
    if (entry.execution === "background") {
      this.note(entry, startedMs, { outcome: this.dryRun ? "dry_run" : "backgrounded" });
      return;
    }
    try {
      if (this.rules.absorb(this, entry, value, startedMs, run)) this.isOver = true;
    } catch (error) {
      this.failed(entry, run, startedMs, error, "failed");
    }
  }

  private failed(entry: Entry, run: HookRun, startedMs: number, error: unknown, outcome: "failed" | "timed_out"): void {
    this.rules.revert(run);
    this.fail(entry, startedMs, error, outcome);
    this.followFailure(entry);
  }

  protected override failUncalled(entry: Entry, error: HookgateError): void {
    this.fail(entry, undefined, error, "failed");
    this.followFailure(entry);
  }

  private followFailure(entry: Entry): void {
    if (this.failure !== undefined) this.isOver = true;
    else if (entry.closing === "fallback" && this.fellBack(entry)) this.isOver = true;
  }

  /**
   * A fallback that is refused when it is needed (it forwards to a platform that is off) fails the dispatch, as a hook that fails closed
   * does.
   */
  private fellBack(entry: Entry): boolean {
    try {
      return this.rules.fallBack(this, entry, entry.options.fallback);
    } catch (error) {
      this.failure = new HookFailedError({ hook: this.point.name, id: entry.id, cause: error, isOfFallback: true });
      return true;
    }
  }

  /** The handler that is waited for returned. */
  onValue(value: unknown): void {
    const run = this.awaited as HookRun;
    const entry = this.entries[this.at - 1] as Entry;
    const late = this.lateError(run, this.awaitedSinceMs, this.wait);
    this.awaited = undefined;
    if (late !== undefined) this.drop(entry, run, this.awaitedSinceMs, late);
    else if (value !== undefined || this.needsEveryReturn) this.took(entry, run, this.awaitedSinceMs, value);
    this.proceed();
  }

  /** A handler is past its deadline: its signal fires, and its changes and its result do not count. */
  private drop(entry: Entry, run: HookRun, startedMs: number, reason: unknown): void {
    HookRun.abandon(run, reason);
    this.failed(entry, run, startedMs, reason, "timed_out");
  }

  /** The handler that is waited for failed. */
  onError(error: unknown): void {
    if (this.isCutOff(error)) {
      this.onCutOff(stopped());
      return;
    }
    const run = this.awaited as HookRun;
    this.awaited = undefined;
    this.failed(this.entries[this.at - 1] as Entry, run, this.awaitedSinceMs, error, "failed");
    this.proceed();
  }

  /** The handler that is waited for is past its deadline. */
  onDeadline(): void {
    if (this.awaited !== undefined) this.giveUp(deadlineError(this.awaited));
  }

  /** Stops waiting for a handler: its signal fires, and its wait is left to its promise. */
  private giveUp(reason: unknown): void {
    const { awaited: run, wait } = this;
    if (run === undefined || wait === undefined) return;
    const entry = this.entries[this.at - 1] as Entry;
    this.awaited = undefined;
    this.wait = undefined;
    wait.leave(entry);
    this.drop(entry, run, this.awaitedSinceMs, reason);
    this.proceed();
  }

  /** Recorded as far as it came: no further hook runs, and the caller, which the stop ends too, gets no answer. */
  onCutOff(reason: Error): void {
    const { awaited: run, wait } = this;
    if (run === undefined || wait === undefined) return;
    const entry = this.entries[this.at - 1] as Entry;
    this.awaited = undefined;
    this.wait = undefined;
    this.isOver = true;
    wait.leave(entry);
    this.rules.revert(run);
    HookRun.abandon(run, reason);
    this.reportDetached(entry, this.awaitedSinceMs, reason, "interrupted");
    this.unwatch?.();
    this.recording?.end(this, { outcome: "interrupted" });
  }

  private proceed(): void {
    const pending = this.advance();
    if (pending === undefined) this.finish();
    else this.waitFor(pending);
  }

  override check(entry: Entry, result: unknown): string | undefined {
    return this.rules.check(this, entry, result);
  }

  awaitedRun(): HookRun | undefined {
    return this.awaited;
  }

  onLate(entry: Entry, error: unknown): void {
    this.ignoreLate(entry, error);
  }

  /** A late result is discarded. A result that would have stopped something is logged: it was not stopped. */
  onLateValue(entry: Entry, value: unknown): void {
    const decision = this.phase === undefined ? decisionIn(value) : undefined;
    if (decision !== undefined)
      this.warn(
        entry,
        `it returned ${decision} after its time of ${entry.timeoutMs} ms: the result came too late and has no effect. Raise timeoutMs, or decide faster.`,
      );
  }

  private finish(): void {
    this.wait?.release();
    const result = this.end();
    if (this.failure === undefined) this.resolve?.(result);
    else this.reject?.(this.failure);
  }

  private end(): Result {
    this.unwatch?.();
    return this.rules.conclude(this);
  }

  /** When the caller gives up, no further hook runs, and the handler under way is abandoned. */
  private watch(signal: AbortSignal): void {
    const onAbort = () => {
      this.isOver = true;
      this.failure = signal.reason;
      this.giveUp(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.unwatch = () => signal.removeEventListener("abort", onAbort);
  }

  /** `fire_and_record`: started in its place in the order; only the record waits for it. */
  private launch(entry: Entry): void {
    const run = this.rules.contextFor(this, entry);
    const startedMs = this.startMs();
    const ended = this.detach();
    TimedCall.start(
      this.kernel.wheel,
      run,
      () => this.invoke(entry, run),
      (end) => {
        const settled = this.judged(end);
        if (settled.kind === "passed") this.note(entry, startedMs, { outcome: "passed" });
        else this.reportDetached(entry, startedMs, settled.error, settled.kind);
        ended();
      },
      (error) => this.ignoreLate(entry, error),
    );
    this.recording?.read(); // what it did before its first await is not the next handler's time
  }
}
