/**
 * The waits of dispatches: a wait has the callbacks for one handler's promise, and its deadline. Waits are reused, so that
 * waiting for a handler allocates nothing and arming its deadline is a few writes. Reuse is safe, because a native promise calls
 * back once; a wait whose handler is late is never used again.
 *
 * Benchmark: bench/dispatch.ts.
 */
import { Armed, type DeadlineWheel } from "./deadline-wheel.js";

/** The free waits of a registry. `Run`: one execution of a handler. `Entry`: its registration. */
export interface Waits<Run, Entry> {
  readonly wheel: DeadlineWheel;
  readonly sequence: SequenceWait<Run, Entry>[];
  readonly void: VoidWait<Run, Entry>[];
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
interface Sequential<Run, Entry> {
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
  awaitedRun(): Run | undefined;
}

export function takeSequenceWait<Run, Entry>(
  waits: Waits<Run, Entry>,
  sequence: Sequential<Run, Entry>,
): SequenceWait<Run, Entry> {
  const wait = waits.sequence.pop() ?? new SequenceWait(waits);
  wait.sequence = sequence;
  return wait;
}

/** Waits for the handlers of a sequence, one after the other. */
export class SequenceWait<Run, Entry> extends Armed {
  private readonly waits: Waits<Run, Entry>;
  sequence: Sequential<Run, Entry> | undefined;
  /** The entry whose promise is all that it still waits for: past its deadline, or abandoned. The result is dropped. */
  private late: Entry | undefined;
  readonly onValue: (value: unknown) => void;
  readonly onError: (error: unknown) => void;

  constructor(waits: Waits<Run, Entry>) {
    super();
    this.waits = waits;
    this.sequence = undefined;
    this.late = undefined;
    this.onValue = (value) => {
      const sequence = this.sequence as Sequential<Run, Entry>;
      if (this.late === undefined) sequence.onValue(value);
      else if (value !== undefined) sequence.onLateValue(this.late, value);
    };
    this.onError = (error) => {
      const sequence = this.sequence as Sequential<Run, Entry>;
      if (this.late === undefined) sequence.onError(error);
      else sequence.onLate(this.late, error);
    };
  }

  awaitedRun(): Run | undefined {
    return this.sequence?.awaitedRun();
  }

  /** All promises that the wait waited for have called back: the wait may be used again. */
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
interface Parallel<Run, Entry> {
  /** Why the value that a handler returns now comes too late; undefined when it comes in time. */
  lateness(wait: VoidWait<Run, Entry>, run: Run, startedMs: number): unknown;
  onValue(wait: VoidWait<Run, Entry>, run: Run, startedMs: number, value: unknown): void;
  onError(wait: VoidWait<Run, Entry>, run: Run, startedMs: number, error: unknown): void;
  /** The error of a handler that is at its deadline. */
  deadlineError(run: Run): unknown;
  /** The handler is no longer waited for. */
  onAbandoned(wait: VoidWait<Run, Entry>, run: Run, startedMs: number, reason: unknown): void;
  /** The process ends while the handler runs. */
  onCutOff(wait: VoidWait<Run, Entry>, run: Run, startedMs: number, reason: Error): void;
  /** A handler that is no longer waited for was rejected after all. */
  onLate(run: Run, error: unknown): void;
}

export function takeVoidWait<Run, Entry>(
  waits: Waits<Run, Entry>,
  dispatch: Parallel<Run, Entry>,
  run: Run,
  startedMs: number,
): VoidWait<Run, Entry> {
  const wait = waits.void.pop() ?? new VoidWait(waits);
  wait.dispatch = dispatch;
  wait.run = run;
  wait.startedMs = startedMs;
  return wait;
}

/** Waits for one of the handlers that run at once. */
export class VoidWait<Run, Entry> extends Armed {
  private readonly waits: Waits<Run, Entry>;
  dispatch: Parallel<Run, Entry> | undefined;
  run: Run | undefined;
  startedMs: number;
  private isLate: boolean;
  readonly onValue: (value: unknown) => void;
  readonly onError: (error: unknown) => void;

  constructor(waits: Waits<Run, Entry>) {
    super();
    this.waits = waits;
    this.dispatch = undefined;
    this.run = undefined;
    this.startedMs = 0;
    this.isLate = false;
    this.onValue = (value) => {
      if (this.isLate) return; // a late result is discarded
      const { run, startedMs } = this;
      const late = this.dispatch?.lateness(this, run as Run, startedMs);
      if (late !== undefined) this.abandon(late);
      else this.release()?.onValue(this, run as Run, startedMs, value);
    };
    this.onError = (error) => {
      const { run, startedMs } = this;
      if (this.isLate) this.dispatch?.onLate(run as Run, error);
      else this.release()?.onError(this, run as Run, startedMs, error);
    };
  }

  awaitedRun(): Run | undefined {
    return this.run;
  }

  private release(): Parallel<Run, Entry> | undefined {
    const { dispatch } = this;
    this.dispatch = undefined;
    this.run = undefined;
    putBack(this.waits.wheel, this.waits.void, this);
    return dispatch;
  }

  override expire(): void {
    this.abandon(this.dispatch?.deadlineError(this.run as Run));
  }

  /** Stops waiting: a later result is dropped. */
  abandon(reason: unknown): void {
    this.isLate = true;
    this.waits.wheel.disarm(this);
    this.dispatch?.onAbandoned(this, this.run as Run, this.startedMs, reason);
  }

  /** The process ends while the handler runs. */
  cutOff(reason: Error): void {
    const { run } = this;
    if (run === undefined || this.isLate) return;
    this.isLate = true;
    this.waits.wheel.disarm(this);
    this.dispatch?.onCutOff(this, run, this.startedMs, reason);
  }
}
