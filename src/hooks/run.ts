/** One execution of one handler, and the context that the handler gets: nothing in it is made before it is read. */
import type { Cause, Outcome } from "../domain/journal.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { formatDuration } from "../lib/time/duration.js";
import type { Entry } from "./registration/entry.js";
import type { HookContext } from "./signatures.js";

/** The facts of a dispatch that its runs need. */
export interface Origin {
  readonly id: string;
  readonly attempt: number;
  readonly dryRun: boolean;
  readonly timestamp: string;
  readonly logger: Logger;
  readonly cause: Cause | undefined;
  readonly recordId: string | undefined;
  nowMs(): number;
  runIdOf(entry: Entry): string;
  state(entry: Entry, outcome: Outcome, reason: string | undefined): void;
  check(entry: Entry, result: unknown): string | undefined;
  warn(entry: Entry, what: string): void;
  warnOnce(entry: Entry, what: string): void;
}

/** The time in which the handler waited for others, before it started: it counts against its timeout. */
export interface Turn {
  /** The setting that made it wait, `concurrency: 1`. */
  readonly limit: string;
  readonly sinceMs: number;
  /** Undefined while it waits. */
  readonly untilMs: number | undefined;
}

const STATES = ["skipped", "blocked", "deferred", "dry_run"] as const;

export class HookRun implements HookContext {
  // Private in earnest: a handler holds this object.
  readonly #dispatch: Origin;
  readonly #entry: Entry;
  #controller: AbortController | undefined = undefined;
  #turn: Turn | undefined = undefined;

  constructor(dispatch: Origin, entry: Entry) {
    this.#dispatch = dispatch;
    this.#entry = entry;
  }

  get hook(): string {
    return this.#entry.point.name;
  }
  get id(): string {
    return this.#entry.id;
  }
  get runId(): string {
    return this.#dispatch.runIdOf(this.#entry);
  }
  get dispatchId(): string {
    return this.#dispatch.id;
  }
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }
  get logger(): Logger {
    return this.#dispatch.logger.child({ hook: this.hook, id: this.id });
  }
  get timestamp(): string {
    return this.#dispatch.timestamp;
  }
  get attempt(): number {
    return this.#dispatch.attempt;
  }
  get dryRun(): boolean {
    return this.#dispatch.dryRun;
  }
  get cause(): Cause | undefined {
    return this.#dispatch.cause;
  }
  get recordId(): string | undefined {
    return this.#dispatch.recordId;
  }
  state(outcome: (typeof STATES)[number], reason?: string): void {
    if (!STATES.includes(outcome))
      throw new HookgateError({
        code: "HOOK_RESULT_INVALID",
        message: `context.state: expected ${STATES.join(" | ")}, got ${String(outcome)}`,
      });
    this.#dispatch.state(this.#entry, outcome, reason);
  }

  check(result: unknown): string | undefined {
    return this.#dispatch.check(this.#entry, result);
  }

  /** For the kernel; a handler has no use for it. */
  static entryOf(run: HookRun): Entry {
    return run.#entry;
  }

  static turnOf(run: HookRun): Turn | undefined {
    return run.#turn;
  }

  /** The handler waits for its turn under this limit; undefined: it has started. */
  static waits(context: object, limit: string | undefined): void {
    if (!(context instanceof HookRun)) return;
    const turn = context.#turn;
    const nowMs = context.#dispatch.nowMs();
    if (limit !== undefined) context.#turn = { limit, sinceMs: nowMs, untilMs: undefined };
    else if (turn !== undefined) context.#turn = { ...turn, untilMs: nowMs };
  }

  /** Logs an act of a handler without effect. `isEach`: each time, not once for each hook. */
  protected static warn(run: HookRun, what: string, isEach: boolean): void {
    if (isEach) run.#dispatch.warn(run.#entry, what);
    else run.#dispatch.warnOnce(run.#entry, what);
  }

  /** Fires the signal of a run whose result is no longer awaited. */
  static abandon(run: HookRun, reason: unknown): void {
    run.#controller ??= new AbortController();
    run.#controller.abort(reason);
  }
}

/** The reason of a signal that fired at a deadline. */
export function deadlineError(run: HookRun): DOMException {
  const { id, timeoutMs } = HookRun.entryOf(run);
  const turn = HookRun.turnOf(run);
  const text =
    turn === undefined
      ? `did not end within ${timeoutMs} ms`
      : turn.untilMs === undefined
        ? `waited for its turn (${turn.limit}) until its timeout of ${timeoutMs} ms, and did not start`
        : `waited ${waitedText(turn.untilMs - turn.sinceMs, turn)} and did not end within its timeout of ${timeoutMs} ms, which counts the waiting`;
  return new DOMException(`Hook "${id}" ${text}`, "TimeoutError");
}

/** Like `deadlineError`, for a handler that returned before its deadline was noticed. `isBlocked`: because it blocked the process. */
export function lateError(run: HookRun, tookMs: number, isBlocked: boolean): DOMException {
  const { id, timeoutMs } = HookRun.entryOf(run);
  const turn = HookRun.turnOf(run);
  const waited =
    turn?.untilMs === undefined
      ? ""
      : `waited ${waitedText(turn.untilMs - turn.sinceMs, turn)} and ended too late: it `;
  return new DOMException(
    `Hook "${id}" ${waited}returned after ${Math.round(tookMs)} ms, later than its timeout of ${timeoutMs} ms${isBlocked ? ", and blocked the process meanwhile" : ""}: its result is dropped`,
    "TimeoutError",
  );
}

const waitedText = (ms: number, { limit }: Turn) => `${formatDuration(ms)} for its turn (${limit})`;

/** How a handler ended that is called on its own deadline. */
export type Settled =
  | { kind: "passed"; value: unknown }
  | { kind: "failed"; error: unknown }
  | { kind: "timed_out"; error: unknown }
  | { kind: "interrupted"; error: unknown };

/** The reason of a run that the stop of the gateway cut off. */
export const stopped = () => new Error("the gateway stopped while it ran");

export function isDeadlineError(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}
