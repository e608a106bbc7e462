/** Calls one handler with its own deadline, independent of others: turn handlers, detached runs, background runs. */
import { Armed, type DeadlineWheel } from "../../fast/deadline-wheel.js";
import { deadlineError, HookRun, lateError, type Settled } from "../run.js";
import { isThenable, promiseOf } from "./dispatch.js";

export class TimedCall extends Armed {
  readonly #wheel: DeadlineWheel;
  readonly #run: HookRun;
  #settle: ((settled: Settled) => void) | undefined;

  private constructor(wheel: DeadlineWheel, run: HookRun, settle: (settled: Settled) => void) {
    super();
    this.#wheel = wheel;
    this.#run = run;
    this.#settle = settle;
  }

  /** Calls `invoke` now. `settle` is called once, at once when the handler is synchronous; `rejectedLate` for a rejection after that. */
  static start(
    wheel: DeadlineWheel,
    run: HookRun,
    invoke: () => unknown,
    settle: (settled: Settled) => void,
    rejectedLate: (error: unknown) => void,
  ): TimedCall {
    const call = new TimedCall(wheel, run, settle);
    const { timeoutMs, timeoutTicks } = HookRun.entryOf(run);
    const startedMs = wheel.nowMs();
    /** The error of one whose deadline is noticed now, when it returns. */
    const lateness = (): DOMException | undefined => {
      const nowMs = wheel.nowMs();
      const tookMs = nowMs - startedMs;
      const isWaiting = call.next !== undefined;
      const isLate = tookMs > timeoutMs && (!isWaiting || wheel.isPast(call));
      const isBlocked = !isWaiting || wheel.wasBlocked(tookMs - timeoutMs);
      wheel.returned(nowMs);
      return isLate ? lateError(run, tookMs, isBlocked) : undefined;
    };
    let value: unknown;
    let waits: boolean;
    try {
      value = invoke();
      waits = isThenable(value);
    } catch (error) {
      call.#end({ kind: "failed", error });
      return call;
    }
    const late = lateness();
    if (!waits) {
      if (late !== undefined) call.abandon(late);
      else call.#end({ kind: "passed", value });
      return call;
    }
    if (late !== undefined) call.abandon(late);
    else wheel.arm(call, timeoutTicks);
    promiseOf(value as PromiseLike<unknown>).then(
      (settled) => {
        const error = lateness();
        if (error !== undefined) call.abandon(error);
        else call.#end({ kind: "passed", value: settled });
      },
      (error) => (call.#settle === undefined ? rejectedLate(error) : call.#end({ kind: "failed", error })),
    );
    return call;
  }

  awaitedRun(): HookRun {
    return this.#run;
  }

  override expire(): void {
    this.abandon(deadlineError(this.#run));
  }

  /** Stops waiting: the signal fires, a later result is dropped. */
  abandon(error: unknown): void {
    if (this.#settle === undefined) return;
    HookRun.abandon(this.#run, error);
    this.#end({ kind: "timed_out", error });
  }

  /** The process ends while it runs: its signal fires. */
  cutOff(reason: Error): void {
    if (this.#settle === undefined) return;
    HookRun.abandon(this.#run, reason);
    this.#end({ kind: "interrupted", error: reason });
  }

  #end(settled: Settled): void {
    const settle = this.#settle;
    if (settle === undefined) return; // a late result is discarded
    this.#settle = undefined;
    this.#wheel.disarm(this);
    settle(settled);
  }
}
