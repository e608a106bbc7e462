/**
 * What a dispatch waits with: the callbacks for one handler's promise, and its deadline. Used again and again, so that
 * waiting for a handler allocates nothing and arming its deadline is a few writes. Safe, because a native promise calls
 * back once; a wait whose handler is late is never used again.
 */
import { Armed, type DeadlineWheel } from "./deadline-wheel.js";
import type { Entry } from "./entry.js";
import { deadlineError, HookRun } from "./run.js";

/** The free waits of a registry. */
export interface Waits {
  readonly wheel: DeadlineWheel;
  readonly sequence: SequenceWait[];
  readonly void: VoidWait[];
}

/** How many of a kind are kept. */
const MAX_FREE = 2_000;

function putBack<Wait extends Armed>(wheel: DeadlineWheel, free: Wait[], wait: Wait): void {
  if (free.length < MAX_FREE) {
    wheel.rest(wait);
    free.push(wait);
  } else wheel.disarm(wait);
}

/** A dispatch that runs one handler after the other. */
interface Sequential {
  onValue(value: unknown): void;
  onError(error: unknown): void;
  onDeadline(): void;
  /** The process ends while it waits. */
  onCutOff(reason: Error): void;
  /** A handler that timed out was rejected after all. */
  onLate(entry: Entry, error: unknown): void;
  /** A handler that timed out returned something after all. */
  onLateValue(entry: Entry, value: unknown): void;
  /** The run that is waited for. */
  awaitedRun(): HookRun | undefined;
}

export function takeSequenceWait(waits: Waits, sequence: Sequential): SequenceWait {
  const wait = waits.sequence.pop() ?? new SequenceWait(waits);
  wait.sequence = sequence;
  return wait;
}

/** Waits for the handlers of a sequence, one after the other. */
export class SequenceWait extends Armed {
  private readonly waits: Waits;
  sequence: Sequential | undefined;
  /** The entry whose promise is all that it still waits for: past its deadline, or abandoned. The result is dropped. */
  private late: Entry | undefined;
  readonly onValue: (value: unknown) => void;
  readonly onError: (error: unknown) => void;

  constructor(waits: Waits) {
    super();
    this.waits = waits;
    this.sequence = undefined;
    this.late = undefined;
    this.onValue = (value) => {
      const sequence = this.sequence as Sequential;
      if (this.late === undefined) sequence.onValue(value);
      else if (value !== undefined) sequence.onLateValue(this.late, value);
    };
    this.onError = (error) => {
      const sequence = this.sequence as Sequential;
      if (this.late === undefined) sequence.onError(error);
      else sequence.onLate(this.late, error);
    };
  }

  awaitedRun(): HookRun | undefined {
    return this.sequence?.awaitedRun();
  }

  /** All promises that it waited for have called back: it may be used again. */
  release(): void {
    this.sequence = undefined;
    putBack(this.waits.wheel, this.waits.sequence, this);
  }

  /** The dispatch goes on without the handler that is waited for. */
  leave(entry: Entry): void {
    this.late = entry;
    this.waits.wheel.disarm(this);
  }

  override expire(): void {
    this.sequence?.onDeadline();
  }

  cutOff(reason: Error): void {
    this.sequence?.onCutOff(reason);
  }
}

/** A dispatch that runs all its handlers at once. */
interface Parallel {
  lateness(wait: VoidWait, run: HookRun, startedMs: number): unknown;
  onValue(wait: VoidWait, run: HookRun, startedMs: number, value: unknown): void;
  onError(wait: VoidWait, run: HookRun, startedMs: number, error: unknown, outcome: "failed" | "timed_out"): void;
  onCutOff(run: HookRun, startedMs: number, reason: Error): void;
  onLate(run: HookRun, error: unknown): void;
}

export function takeVoidWait(waits: Waits, dispatch: Parallel, run: HookRun, startedMs: number): VoidWait {
  const wait = waits.void.pop() ?? new VoidWait(waits);
  wait.dispatch = dispatch;
  wait.run = run;
  wait.startedMs = startedMs;
  return wait;
}

/** Waits for one of the handlers that run at once. */
export class VoidWait extends Armed {
  private readonly waits: Waits;
  dispatch: Parallel | undefined;
  run: HookRun | undefined;
  startedMs: number;
  private isLate: boolean;
  readonly onValue: (value: unknown) => void;
  readonly onError: (error: unknown) => void;

  constructor(waits: Waits) {
    super();
    this.waits = waits;
    this.dispatch = undefined;
    this.run = undefined;
    this.startedMs = 0;
    this.isLate = false;
    this.onValue = (value) => {
      if (this.isLate) return; // a late result is discarded
      const { run, startedMs } = this;
      const late = this.dispatch?.lateness(this, run as HookRun, startedMs);
      if (late !== undefined) this.abandon(late);
      else this.release()?.onValue(this, run as HookRun, startedMs, value);
    };
    this.onError = (error) => {
      const { run, startedMs } = this;
      if (this.isLate) this.dispatch?.onLate(run as HookRun, error);
      else this.release()?.onError(this, run as HookRun, startedMs, error, "failed");
    };
  }

  awaitedRun(): HookRun | undefined {
    return this.run;
  }

  private release(): Parallel | undefined {
    const { dispatch } = this;
    this.dispatch = undefined;
    this.run = undefined;
    putBack(this.waits.wheel, this.waits.void, this);
    return dispatch;
  }

  override expire(): void {
    this.abandon(deadlineError(this.run as HookRun));
  }

  /** Stops waiting: the signal fires, what comes later is dropped. */
  abandon(reason: unknown): void {
    const run = this.run as HookRun;
    this.isLate = true;
    this.waits.wheel.disarm(this);
    HookRun.abandon(run, reason);
    this.dispatch?.onError(this, run, this.startedMs, reason, "timed_out");
  }

  /** The process ends while the handler runs: its signal fires. */
  cutOff(reason: Error): void {
    const { run } = this;
    if (run === undefined || this.isLate) return;
    this.isLate = true;
    this.waits.wheel.disarm(this);
    HookRun.abandon(run, reason);
    this.dispatch?.onCutOff(run, this.startedMs, reason);
  }
}
