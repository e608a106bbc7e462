/**
 * `before`: handlers share one mutable `ctx.data` and may cancel. Each is given the data with a snapshot kept behind it, so that
 * changes of a failed handler can be taken back, and later changes of a late one have no effect. `runBeforeSync` is here too; `after`
 * is a void dispatch with another context (void.ts).
 */
import { copyOf } from "../../fast/isolate.js";
import type { HookgateError } from "../../lib/errors.js";
import { isRecord } from "../../lib/record.js";
import type { Kernel } from "../kernel.js";
import type { Firing } from "../options.js";
import type { HookPoint } from "../point.js";
import type { Ending, Recording, RunEnd } from "../recording.js";
import type { Entry } from "../registration/entry.js";
import { checkByCaller, checkChange, withPatch } from "../results.js";
import { HookRun, type Origin } from "../run.js";
import type { BeforeResult, LifecycleContext } from "../signatures.js";
import { Dispatch, isThenable, promiseOf } from "./dispatch.js";
import { checkNothingReturned, reasonOf } from "./no-effect.js";
import type { Rules, Sequence } from "./sequence.js";

/** The cancellation that the handlers of one dispatch share. */
export interface Cancellation {
  cancelled: boolean;
  reason: string | undefined;
  by: string | undefined;
}

/** The context of a lifecycle handler. `after` handlers and detached ones have no cancellation to change. */
export class LifecycleRun extends HookRun implements LifecycleContext {
  #data: unknown;
  readonly #cancellation: Cancellation | undefined;
  #isOpen = true;
  readonly phase: "before" | "after";

  constructor(dispatch: Origin, entry: Entry, phase: "before" | "after", data: unknown, cancellation?: Cancellation) {
    super(dispatch, entry);
    this.phase = phase;
    this.#data = data;
    this.#cancellation = cancellation;
  }

  get data(): unknown {
    return this.#data;
  }
  set data(value: unknown) {
    if (this.#cancellation !== undefined && this.#isOpen) this.#data = value;
  }
  get cancelled(): boolean {
    return this.#cancellation?.cancelled ?? false;
  }
  get cancelReason(): string | undefined {
    return this.#cancellation?.reason;
  }
  // A field and not a method, so that `const { cancel } = ctx` works.
  readonly cancel = (given?: string): void => {
    const cancellation = this.#isOpen && HookRun.entryOf(this).point.vetoable ? this.#cancellation : undefined;
    if (cancellation === undefined) {
      this.#warnOfNoEffect();
      return;
    }
    const { reason, problem } = reasonOf(given);
    if (problem !== undefined) HookRun.warn(this, problem, false);
    cancellation.cancelled = true;
    cancellation.by ??= this.id;
    if (reason !== undefined) cancellation.reason ??= reason;
  };

  #warnOfNoEffect(): void {
    const { point, execution, timeoutMs } = HookRun.entryOf(this);
    const warn = (why: string) => HookRun.warn(this, `ctx.cancel has no effect: ${why}`, !this.#isOpen);
    if (this.phase === "after")
      warn('in the phase "after", what it would stop has happened. Register the hook in the phase "before".');
    else if (this.#cancellation === undefined) warn(`nothing waits for a hook whose execution is ${execution}.`);
    else if (!point.vetoable) warn(`nothing can cancel ${point.name}.`);
    else if (this.signal.aborted)
      warn(`it was called after the hook's time of ${timeoutMs} ms. Nothing was cancelled.`);
    else warn("it was called when the hook had ended. Nothing was cancelled.");
  }

  /** Gives the data as the handler left it; after this, nothing that it does has an effect. */
  static close(run: LifecycleRun): unknown {
    run.#isOpen = false;
    return run.#data;
  }
}

export class BeforeRules implements Rules<BeforeResult<unknown>> {
  private data: unknown;
  private snapshot: unknown;
  private readonly cancellation: Cancellation;
  private wasCancelled: boolean;

  constructor(payload: unknown) {
    this.data = copyOf(payload);
    this.snapshot = undefined;
    this.cancellation = { cancelled: false, reason: undefined, by: undefined };
    this.wasCancelled = false;
  }

  contextFor(sequence: Sequence<BeforeResult<unknown>>, entry: Entry): HookRun {
    if (entry.execution === "fire_and_record") return new LifecycleRun(sequence, entry, "before", sequence.view());
    this.snapshot = copyOf(this.data);
    this.wasCancelled = this.cancellation.cancelled;
    return new LifecycleRun(sequence, entry, "before", this.data, this.cancellation);
  }

  mergedView(sequence: Sequence<BeforeResult<unknown>>): unknown {
    return sequence.view();
  }

  seenBy(sequence: Sequence<BeforeResult<unknown>>, entry: Entry): unknown {
    return entry.execution === "fire_and_record" ? sequence.payload : this.data;
  }

  absorb(
    sequence: Sequence<BeforeResult<unknown>>,
    entry: Entry,
    value: unknown,
    startedMs: number,
    run: HookRun,
  ): boolean {
    if (value !== undefined) checkReturned(sequence, entry, value, run as LifecycleRun);
    const changed = LifecycleRun.close(run as LifecycleRun);
    checkChange(this.snapshot, changed, sequence.point, sequence.firing?.refuseChange);
    this.data = changed;
    if (sequence.recording !== undefined)
      sequence.note(entry, startedMs, beforeEnd(this.cancellation, this.wasCancelled, this.snapshot, this.data));
    return false;
  }

  check({ point, firing }: Sequence<BeforeResult<unknown>>, _entry: Entry, data: unknown): string | undefined {
    checkChange(this.snapshot, data, point, firing?.refuseChange);
    return undefined;
  }

  /** The failed handler keeps the object that it changed; everybody else goes on with the snapshot. */
  revert(run: HookRun): void {
    LifecycleRun.close(run as LifecycleRun);
    this.data = this.snapshot;
  }

  fallBack({ firing }: Sequence<BeforeResult<unknown>>, _entry: Entry, fallback: unknown): boolean {
    const changed = copyOf(this.data);
    change(changed, fallback);
    checkByCaller(this.data, changed, firing?.refuseChange);
    this.data = changed;
    return false;
  }

  conclude(sequence: Sequence<BeforeResult<unknown>>): BeforeResult<unknown> {
    const result = beforeResult(this.data, this.cancellation);
    sequence.recording?.end(sequence, beforeEnding(sequence.recording, sequence.failure, result));
    return result;
  }
}

/**
 * `before` where the caller cannot wait. Async functions are not started, and a promise that a plain function returns is dropped: from then
 * on that handler holds an object that nothing else sees.
 */
export class BeforeSyncDispatch extends Dispatch {
  private data: unknown;
  private readonly cancellation: Cancellation;

  constructor(
    kernel: Kernel,
    point: HookPoint,
    entries: readonly Entry[],
    payload: unknown,
    firing: Firing | undefined,
  ) {
    super(kernel, point, entries, payload, firing, "before");
    this.data = copyOf(payload);
    this.cancellation = { cancelled: false, reason: undefined, by: undefined };
  }

  /** Throws `HookFailedError` when a fail-closed handler fails. */
  run(): BeforeResult<unknown> {
    for (const entry of this.entries) {
      if (this.isWanted(entry)) {
        const reason = unfit(entry);
        if (reason === undefined) this.call(entry);
        else {
          this.warnOnce(entry, reason);
          this.note(entry, undefined, { outcome: "skipped", reason });
        }
      }
      if (this.failure !== undefined) break;
    }
    const result = beforeResult(this.data, this.cancellation);
    this.recording?.end(this, beforeEnding(this.recording, this.failure, result));
    if (this.failure !== undefined) throw this.failure;
    return result;
  }

  protected override seenBy(): unknown {
    return this.data;
  }

  private call(entry: Entry): void {
    const snapshot = copyOf(this.data);
    const wasCancelled = this.cancellation.cancelled;
    const run = new LifecycleRun(this, entry, "before", this.data, this.cancellation);
    const startedMs = this.startMs();
    let late: unknown;
    try {
      const value = entry.handler(run);
      late = this.lateError(run, startedMs);
      if (late !== undefined) {
        if (isThenable(value)) promiseOf(value).catch((error: unknown) => this.ignoreLate(entry, error));
        throw late;
      }
      if (!isThenable(value)) checkReturned(this, entry, value, run);
      const changed = LifecycleRun.close(run);
      checkChange(snapshot, changed, this.point);
      this.data = changed;
      if (isThenable(value)) this.letGo(entry, value);
      this.note(entry, startedMs, beforeEnd(this.cancellation, wasCancelled, snapshot, this.data));
    } catch (error) {
      LifecycleRun.close(run);
      this.data = snapshot;
      this.fail(entry, startedMs, error, late === undefined ? "failed" : "timed_out");
      if (entry.closing === "fallback") change(this.data, entry.options.fallback);
    }
  }

  protected override failUncalled(entry: Entry, error: HookgateError): void {
    this.fail(entry, undefined, error, "failed");
    if (entry.closing === "fallback") change(this.data, entry.options.fallback);
  }

  private letGo(entry: Entry, promise: PromiseLike<unknown>): void {
    this.warnOnce(entry, "it returned a promise, and a synchronous point does not wait for promises");
    this.data = copyOf(this.data);
    promiseOf(promise).catch((error: unknown) => this.ignoreLate(entry, error));
  }
}

/** Throws for fields that were returned and would have no effect. */
function checkReturned(dispatch: Dispatch, entry: Entry, value: unknown, run: LifecycleRun): void {
  if (value !== false) checkNothingReturned(value, run);
  else
    dispatch.warnOnce(
      entry,
      "it returned false, which has no effect: to stop what is about to happen, call ctx.cancel(reason).",
    );
}

function unfit(entry: Entry): string | undefined {
  if (isAsyncFunction(entry.handler)) return "it is async, and this point is synchronous; it was not started";
  return entry.execution === "background" || entry.execution === "fire_and_record"
    ? `its execution is ${entry.execution}, which a synchronous point does not have`
    : undefined;
}

/** Declared `async`: seen without calling it. */
export const isAsyncFunction = (handler: unknown) =>
  Object.prototype.toString.call(handler) === "[object AsyncFunction]";

/** How one `before` handler ended, for the journal. */
function beforeEnd(cancellation: Cancellation, wasCancelled: boolean, snapshot: unknown, data: unknown): RunEnd {
  if (cancellation.cancelled && !wasCancelled) return { outcome: "cancelled", reason: cancellation.reason };
  const diff = diffOf(snapshot, data);
  return diff === undefined ? { outcome: "passed" } : { outcome: "modified", diff };
}

function beforeEnding(recording: Recording, failure: unknown, result: BeforeResult<unknown>): Ending {
  if (failure !== undefined) return { outcome: "failed" };
  if (result.cancelled) return { outcome: "cancelled", result: copyOf(result) };
  const isModified = recording.runs.some(({ outcome }) => outcome === "modified");
  return isModified ? { outcome: "modified", result: copyOf(result) } : { outcome: undefined };
}

/** A fallback at a `before` point is a change of the data. */
function change(data: unknown, fallback: unknown): void {
  if (isRecord(data) && isRecord(fallback)) Object.assign(data, copyOf(withPatch(data, fallback)));
}

function beforeResult(data: unknown, { cancelled, reason, by }: Cancellation): BeforeResult<unknown> {
  return {
    cancelled,
    cancelReason: reason,
    cancelledBy: by,
    data,
  };
}

/** The fields that differ, with their new values (`null` = removed); undefined when none do. */
function diffOf(before: unknown, after: unknown): unknown {
  if (Object.is(before, after)) return undefined;
  if (!isRecord(before) || !isRecord(after)) return after;
  const diff: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
    if (JSON.stringify(before[key]) !== JSON.stringify(after[key])) diff[key] = copyOf(after[key]) ?? null;
  return Object.keys(diff).length === 0 ? undefined : diff;
}
