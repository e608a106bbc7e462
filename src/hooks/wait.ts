/**
 * What a dispatch waits with: the callbacks for one handler's promise, and its deadline. Used again and again, so that
 * waiting for a handler allocates nothing and arming its deadline is a few writes. Safe, because a native promise calls
 * back once; a wait whose handler is late is never used again.
 */
import { Armed, type DeadlineWheel } from "./deadline-wheel.js";
import { deadlineError, HookRun } from "./run.js";

/** The free waits of a registry. */
export interface Waits {
  readonly wheel: DeadlineWheel;
  readonly sequence: SequenceWait[];
  readonly void: VoidWait[];
}

/** How many of a kind are kept. */
const MOST_FREE = 2_000;

/** Each kind has callbacks of its own: shared ones would be slower for both. */
abstract class Wait extends Armed {
  readonly waits: Waits;
  /** The handler that is waited for. */
  run: HookRun | undefined;
  startedMs: number;
  /** Past its deadline, or abandoned: what its promise brings is dropped. */
  isLate: boolean;

  constructor(waits: Waits) {
    super();
    this.waits = waits;
    this.run = undefined;
    this.startedMs = 0;
    this.isLate = false;
  }

  /** A handler was started whose promise will call back. */
  begin(run: HookRun, startedMs: number, timeoutTicks: number): void {
    this.run = run;
    this.startedMs = startedMs;
    this.waits.wheel.arm(this, timeoutTicks);
  }

  /** The promise that it waited for has called back, and no other will: it may be used again. */
  protected putBack<Kind extends Wait>(this: Kind, free: Kind[]): void {
    this.run = undefined;
    if (free.length < MOST_FREE) {
      this.waits.wheel.rest(this);
      free.push(this);
    } else this.waits.wheel.disarm(this);
  }

  override expire(): void {
    this.abandon(deadlineError(HookRun.entryOf(this.run as HookRun)));
  }

  /** Stops waiting: the signal fires, what comes later is dropped. */
  abandon(reason: unknown): void {
    const run = this.run as HookRun;
    this.isLate = true;
    this.waits.wheel.disarm(this);
    HookRun.abandon(run, reason);
    this.timedOut(run, reason);
  }

  protected abstract timedOut(run: HookRun, reason: unknown): void;
}

/** A dispatch that runs one handler after the other. */
interface Sequential {
  onValue(run: HookRun, startedMs: number, value: unknown): void;
  /** `timed_out`: its wait is left to its promise. */
  onError(run: HookRun, startedMs: number, error: unknown, outcome: "failed" | "timed_out"): void;
  /** A handler that timed out was rejected after all. */
  onLate(run: HookRun, error: unknown): void;
}

export function takeSequenceWait(waits: Waits, sequence: Sequential): SequenceWait {
  const wait = waits.sequence.pop() ?? new SequenceWait(waits);
  wait.sequence = sequence;
  return wait;
}

/** Waits for the handlers of a sequence, one after the other. */
export class SequenceWait extends Wait {
  sequence: Sequential | undefined;
  readonly onValue: (value: unknown) => void;
  readonly onError: (error: unknown) => void;

  constructor(waits: Waits) {
    super(waits);
    this.sequence = undefined;
    this.onValue = (value) => {
      // A late result is discarded.
      if (!this.isLate) this.sequence?.onValue(this.run as HookRun, this.startedMs, value);
    };
    this.onError = (error) => {
      if (this.isLate) this.sequence?.onLate(this.run as HookRun, error);
      else this.sequence?.onError(this.run as HookRun, this.startedMs, error, "failed");
    };
  }

  release(): void {
    this.sequence = undefined;
    this.putBack(this.waits.sequence);
  }

  protected override timedOut(run: HookRun, reason: unknown): void {
    this.sequence?.onError(run, this.startedMs, reason, "timed_out");
  }
}

/** A dispatch that runs all its handlers at once. */
interface Parallel {
  onValue(wait: VoidWait, run: HookRun, startedMs: number): void;
  onError(wait: VoidWait, run: HookRun, startedMs: number, error: unknown, outcome: "failed" | "timed_out"): void;
  onLate(run: HookRun, error: unknown): void;
}

export function takeVoidWait(waits: Waits, dispatch: Parallel): VoidWait {
  const wait = waits.void.pop() ?? new VoidWait(waits);
  wait.dispatch = dispatch;
  return wait;
}

/** Waits for one of the handlers that run at once. */
export class VoidWait extends Wait {
  dispatch: Parallel | undefined;
  readonly onValue: () => void;
  readonly onError: (error: unknown) => void;

  constructor(waits: Waits) {
    super(waits);
    this.dispatch = undefined;
    this.onValue = () => {
      if (this.isLate) return; // a late result is discarded
      const { run, startedMs } = this;
      this.release()?.onValue(this, run as HookRun, startedMs);
    };
    this.onError = (error) => {
      const { run, startedMs } = this;
      if (this.isLate) this.dispatch?.onLate(run as HookRun, error);
      else this.release()?.onError(this, run as HookRun, startedMs, error, "failed");
    };
  }

  private release(): Parallel | undefined {
    const { dispatch } = this;
    this.dispatch = undefined;
    this.putBack(this.waits.void);
    return dispatch;
  }

  protected override timedOut(run: HookRun, reason: unknown): void {
    this.dispatch?.onError(this, run, this.startedMs, reason, "timed_out");
  }
}
