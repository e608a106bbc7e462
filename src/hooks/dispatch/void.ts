/** All handlers at once; the caller waits until all have settled. `after` of the lifecycle model is this, with its own context. */
import { takeVoidWait, type VoidWait } from "../../fast/waits.js";
import { lookable } from "../../lib/errors.js";
import { HookInterruptedError } from "../errors.js";
import type { Kernel } from "../kernel.js";
import type { Firing } from "../options.js";
import type { HookPoint, LifecyclePhase } from "../point.js";
import { failedIf } from "../recording.js";
import type { Entry } from "../registration/entry.js";
import { deadlineError, HookRun, stopped } from "../run.js";
import { Dispatch, isThenable, promiseOf } from "./dispatch.js";
import { LifecycleRun } from "./lifecycle.js";
import { decisionIn } from "./no-effect.js";
import { TimedCall } from "./timed-call.js";

type Waited = VoidWait<HookRun, Entry>;

export class VoidDispatch extends Dispatch {
  /** Unsettled handlers that the caller waits for. */
  private waiting: number;
  /** The stop cut a handler off. */
  private wasCutOff: boolean;
  /** The runs under way, kept when the caller may give up. */
  private open: Set<Waited> | undefined;
  private resolve: (() => void) | undefined;
  private reject: ((error: unknown) => void) | undefined;
  private unwatch: (() => void) | undefined;

  constructor(
    kernel: Kernel,
    point: HookPoint,
    entries: readonly Entry[],
    payload: unknown,
    firing: Firing | undefined,
    phase: LifecyclePhase | undefined,
  ) {
    super(kernel, point, entries, payload, firing, phase);
    this.waiting = 0;
    this.wasCutOff = false;
    this.open = undefined;
    this.resolve = undefined;
    this.reject = undefined;
    this.unwatch = undefined;
  }

  start(): Promise<void> {
    const { entries, firing } = this;
    const signal = firing?.signal;
    if (signal?.aborted) return Promise.reject(signal.reason);
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry;
      if ((entry.ready && firing === undefined) || this.isWanted(entry)) this.call(entry);
    }
    if (this.waiting === 0) {
      this.conclude();
      return this.failure === undefined ? RESOLVED : Promise.reject(this.failure);
    }
    return new Promise<void>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      if (signal !== undefined) this.watch(signal);
    });
  }

  private call(entry: Entry): void {
    const run =
      this.phase === undefined ? new HookRun(this, entry) : new LifecycleRun(this, entry, "after", this.view());
    // The clock is read where a handler has returned: its time before its first await is not the next one's time.
    const startedMs = this.recording?.readMs ?? 0;
    if (entry.execution === "fire_and_record") {
      this.launch(entry, run, startedMs);
      this.startMs();
      return;
    }
    let value: unknown;
    let waits: boolean;
    try {
      value = entry.execution === "background" ? this.enqueue(entry) : this.invoke(entry, run);
      waits = value instanceof Promise || isThenable(value);
    } catch (error) {
      this.fail(entry, startedMs, error, "failed");
      return;
    }
    const late = this.lateError(run, startedMs);
    if (late !== undefined) {
      if (waits) promiseOf(value as PromiseLike<unknown>).catch((error) => this.ignoreLate(entry, error));
      HookRun.abandon(run, late);
      this.fail(entry, startedMs, late, "timed_out");
      return;
    }
    if (!waits) {
      this.passed(entry, startedMs, value);
      return;
    }
    this.waiting++;
    const wait = takeVoidWait(this.kernel.waits, this, run, startedMs);
    this.kernel.wheel.arm(wait, entry.timeoutTicks);
    if (this.firing?.signal !== undefined) {
      this.open ??= new Set();
      this.open.add(wait);
    }
    promiseOf(value as PromiseLike<unknown>).then(wait.onValue, wait.onError);
    this.startMs();
  }

  private invoke(entry: Entry, run: HookRun): unknown {
    return this.phase === undefined ? entry.handler(this.view(), run) : entry.handler(run);
  }

  /** `fire_and_record`: only the record waits for it. */
  private launch(entry: Entry, run: HookRun, startedMs: number): void {
    const ended = this.detach();
    TimedCall.start(
      this.kernel.wheel,
      run,
      () => this.invoke(entry, run),
      (end) => {
        const settled = this.judged(end);
        if (settled.kind === "passed") this.passed(entry, startedMs, settled.value);
        else this.reportDetached(entry, startedMs, settled.error, settled.kind);
        ended();
      },
      (error) => this.ignoreLate(entry, error),
    );
  }

  private passed(entry: Entry, startedMs: number, value: unknown): void {
    if (value !== undefined && entry.execution !== "background") this.ignored(entry, value);
    if (this.recording === undefined) return;
    const isBackground = entry.execution === "background";
    this.note(entry, startedMs, { outcome: !isBackground ? "passed" : this.dryRun ? "dry_run" : "backgrounded" });
  }

  /** Handlers decide nothing here. Most of what they return was never meant to; a decision was. */
  private ignored(entry: Entry, value: unknown): void {
    const decision = value === false ? "false" : decisionIn(lookable(value));
    if (decision === undefined) return;
    const why =
      this.phase === undefined
        ? `a handler of ${this.point.name} decides nothing. Register it at a point that decides (\`npx hookgate points\` lists them)`
        : 'in the phase "after", what it could stop has happened. Register it in the phase "before", and call ctx.cancel(reason)';
    this.warnOnce(entry, `it returned ${decision}, which has no effect: ${why}.`);
  }

  lateness(wait: Waited, run: HookRun, startedMs: number): unknown {
    return this.lateError(run, startedMs, wait);
  }

  onValue(wait: Waited, run: HookRun, startedMs: number, value: unknown): void {
    this.passed(HookRun.entryOf(run), startedMs, value);
    this.settled(wait);
  }

  onError(wait: Waited, run: HookRun, startedMs: number, error: unknown): void {
    if (this.isCutOff(error)) this.onCutOff(wait, run, startedMs, stopped());
    else {
      // A run that an earlier process left unfinished, and that does not happen twice.
      const outcome = lookable(error) instanceof HookInterruptedError ? "interrupted" : "failed";
      this.fail(HookRun.entryOf(run), startedMs, error, outcome);
      this.settled(wait);
    }
  }

  deadlineError(run: HookRun): unknown {
    return deadlineError(run);
  }

  /** The handler's signal fires. */
  onAbandoned(wait: Waited, run: HookRun, startedMs: number, reason: unknown): void {
    HookRun.abandon(run, reason);
    this.fail(HookRun.entryOf(run), startedMs, reason, "timed_out");
    this.settled(wait);
  }

  /** Recorded when the last one is; the caller, which the stop ends too, gets no answer, also when the others have one. */
  onCutOff(wait: Waited, run: HookRun, startedMs: number, reason: Error): void {
    HookRun.abandon(run, reason);
    this.reportDetached(HookRun.entryOf(run), startedMs, reason, "interrupted");
    this.wasCutOff = true;
    this.settled(wait);
  }

  onLate(run: HookRun, error: unknown): void {
    this.ignoreLate(HookRun.entryOf(run), error);
  }

  private settled(wait: Waited): void {
    this.open?.delete(wait);
    if (--this.waiting > 0) return;
    this.unwatch?.();
    this.conclude();
    if (this.wasCutOff) return;
    if (this.failure === undefined) this.resolve?.();
    else this.reject?.(this.failure);
  }

  /** When the caller gives up, every handler that is under way is abandoned. */
  private watch(signal: AbortSignal): void {
    const onAbort = () => {
      this.failure = signal.reason;
      for (const wait of [...(this.open ?? [])]) wait.abandon(signal.reason);
    };
    if (signal.aborted) {
      onAbort(); // by a handler, while they were started
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    this.unwatch = () => signal.removeEventListener("abort", onAbort);
  }

  private conclude(): void {
    this.recording?.end(this, { outcome: this.wasCutOff ? "interrupted" : failedIf(this.failure) });
  }
}

/** The result of every dispatch that has ended at once: it has no value. */
export const RESOLVED: Promise<void> = Promise.resolve();
