/**
 * One handler after the other: modifying, claiming and `before` dispatches.
 *
 * Synchronous until the first thenable. From then on one `Wait` is what the handlers' promises call back, one after the
 * other; at a deadline the dispatch goes on with another.
 */
import type { Entry } from "../entry.js";
import type { Kernel } from "../kernel.js";
import type { Firing } from "../options.js";
import type { HookPoint, LifecyclePhase } from "../point.js";
import { HookRun } from "../run.js";
import { type SequenceWait, takeSequenceWait } from "../wait.js";
import { Dispatch, isThenable, promiseOf } from "./dispatch.js";
import { TimedCall } from "./timed-call.js";

export abstract class Sequence<Result> extends Dispatch {
  private at = 0;
  private isOver = false;
  private wait: SequenceWait | undefined = undefined;
  private resolve: ((result: Result) => void) | undefined = undefined;
  private reject: ((error: unknown) => void) | undefined = undefined;
  private unwatch: (() => void) | undefined = undefined;
  /** False when a handler that returned nothing has changed nothing, and nobody wants to know that it ran. */
  private readonly needsEveryReturn: boolean;

  constructor(
    kernel: Kernel,
    point: HookPoint,
    entries: readonly Entry[],
    payload: unknown,
    firing: Firing | undefined,
    phase: LifecyclePhase | undefined,
  ) {
    super(kernel, point, entries, payload, firing, phase);
    this.needsEveryReturn = phase !== undefined || this.recording !== undefined;
  }

  /** Takes in what a handler returned, and notes it; true = nobody after it runs. May throw: then the handler failed. */
  protected abstract absorb(entry: Entry, value: unknown, startedMs: number, run: HookRun): boolean;
  /** Takes back what a failed handler did. */
  protected abstract revert(run: HookRun): void;
  /** Takes in the fallback of a failed handler, whose failure is already noted; true = nobody after it runs. */
  protected abstract fallBack(entry: Entry, fallback: unknown): boolean;
  /** Lifecycle dispatches only: a context on the data as it stands. */
  protected lifecycleRun(entry: Entry): HookRun {
    return new HookRun(this, entry);
  }
  /** Modifying dispatches only: the payload with everything merged so far. */
  protected mergedView(): unknown {
    return this.view();
  }
  /** Ends the recording and gives what the caller gets. */
  protected abstract conclude(): Result;

  start(): Promise<Result> {
    const signal = this.firing?.signal;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const pending = this.advance();
    if (pending === undefined) {
      const result = this.conclude();
      return this.failure === undefined ? Promise.resolve(result) : Promise.reject(this.failure);
    }
    if (signal !== undefined) this.watch(signal);
    return new Promise<Result>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      const wait = this.wait as SequenceWait;
      pending.then(wait.onValue, wait.onError);
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
      const run = this.phase === undefined ? new HookRun(this, entry) : this.lifecycleRun(entry);
      const startedMs = recording === undefined ? 0 : this.kernel.clock.monotonic();
      let value: unknown;
      let waits: boolean;
      try {
        value = entry.execution === "background" ? this.enqueue(entry) : this.invoke(entry, run);
        waits = value !== undefined && value !== null && isThenable(value);
      } catch (error) {
        this.failed(entry, run, startedMs, error, "failed");
        continue;
      }
      if (waits) {
        this.wait ??= takeSequenceWait(this.kernel.waits, this);
        this.wait.begin(run, startedMs, entry.timeoutTicks);
        return promiseOf(value as PromiseLike<unknown>);
      }
      if ((value !== undefined && value !== null) || this.needsEveryReturn) this.took(entry, run, startedMs, value);
    }
    return undefined;
  }

  private invoke(entry: Entry, run: HookRun): unknown {
    if (this.phase !== undefined) return entry.handler(run);
    return entry.handler(entry.seesMerged ? this.mergedView() : this.view(), run);
  }

  private took(entry: Entry, run: HookRun, startedMs: number, value: unknown): void {
    if (entry.execution === "background") {
      this.note(entry, startedMs, { outcome: this.dryRun ? "dry_run" : "backgrounded" });
      return;
    }
    try {
      if (this.absorb(entry, value, startedMs, run)) this.isOver = true;
    } catch (error) {
      this.failed(entry, run, startedMs, error, "failed");
    }
  }

  private failed(entry: Entry, run: HookRun, startedMs: number, error: unknown, outcome: "failed" | "timed_out"): void {
    this.revert(run);
    this.fail(entry, startedMs, error, outcome);
    if (this.failure !== undefined) this.isOver = true;
    else if (entry.closing === "fallback" && this.fallBack(entry, entry.options.fallback)) this.isOver = true;
  }

  /** The handler that is waited for returned. */
  onValue(run: HookRun, startedMs: number, value: unknown): void {
    if (value !== undefined || this.needsEveryReturn) this.took(HookRun.entryOf(run), run, startedMs, value);
    const pending = this.advance();
    if (pending === undefined) this.finish();
    else pending.then((this.wait as SequenceWait).onValue, (this.wait as SequenceWait).onError);
  }

  /** The handler that is waited for failed, or (then its wait is left to its promise) is late. */
  onError(run: HookRun, startedMs: number, error: unknown, outcome: "failed" | "timed_out"): void {
    if (outcome === "timed_out") this.wait = undefined;
    this.failed(HookRun.entryOf(run), run, startedMs, error, outcome);
    const pending = this.advance();
    if (pending === undefined) this.finish();
    else pending.then((this.wait as SequenceWait).onValue, (this.wait as SequenceWait).onError);
  }

  onLate(run: HookRun, error: unknown): void {
    this.ignoreLate(HookRun.entryOf(run), error);
  }

  private finish(): void {
    this.wait?.release();
    this.unwatch?.();
    const result = this.conclude();
    if (this.failure === undefined) this.resolve?.(result);
    else this.reject?.(this.failure);
  }

  /** When the caller gives up nobody else runs, and the handler under way is abandoned. */
  private watch(signal: AbortSignal): void {
    const onAbort = () => {
      this.isOver = true;
      this.failure = signal.reason;
      this.wait?.abandon(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.unwatch = () => signal.removeEventListener("abort", onAbort);
  }

  /** `fire_and_record`: started in its place in the order, waited for by nobody but the record. */
  private launch(entry: Entry): void {
    const run = this.phase === undefined ? new HookRun(this, entry) : this.lifecycleRun(entry);
    const startedMs = this.startMs();
    const ended = this.recording?.detach(this);
    TimedCall.start(
      this.kernel.wheel,
      run,
      () => this.invoke(entry, run),
      (settled) => {
        if (settled.kind === "passed") this.note(entry, startedMs, { outcome: "passed" });
        else this.reportDetached(entry, startedMs, settled.error, settled.kind);
        ended?.();
      },
      (error) => this.ignoreLate(entry, error),
    );
  }
}
