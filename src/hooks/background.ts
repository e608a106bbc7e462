/**
 * Background runs: recorded first, run from the record by its holder. The port is what a store implements; the one here keeps its records
 * in memory, so they do not outlive the process.
 */
import type { Cause } from "../domain/journal.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { retryPauseMs } from "../lib/time/backoff.js";
import type { Clock } from "../lib/time/clock.js";
import type { LifecyclePhase } from "./point.js";

/** All that is needed to run it later, in another process if need be. JSON. */
export interface BackgroundRun {
  /** Unique; recording it twice is recording it once. */
  id: string;
  hookId: string;
  hook: string;
  phase?: LifecyclePhase;
  payload: unknown;
  /** The dispatch that recorded it. */
  dispatchId: string;
  cause?: Cause;
  conversation?: string;
  messageId?: string;
  /** Its hook was declared so: when a crash cut it off, it is run again. */
  idempotent?: true;
  /** How many of its attempts a stop of the gateway cut off: they are no failures. */
  stops?: number;
  recordedAt: number;
}

/** `gone`: the hook is not registered (any more) or is disabled. */
export type BackgroundEnd =
  | { kind: "done" }
  | { kind: "gone" }
  | { kind: "failed"; error: string; retryInMs?: number }
  /** The stop of the gateway cut it off, which is no failure: it runs again after the next start, when it may run twice. */
  | { kind: "interrupted"; reason: string };
/** Runs a record once. Never rejects. */
export type BackgroundRunner = (run: BackgroundRun, attempt: number) => Promise<BackgroundEnd>;

export interface BackgroundPort {
  /** Called once, by the registry. Nothing is run before it. */
  serve(runner: BackgroundRunner): void;
  /** The gateway is stopping: no further record is run. */
  takeNoMore?(): void;
  /**
   * Returns, or resolves, when the record is as durable as the port can make it: with a reason (text) when the run is not to
   * happen, which is on record, too. Throws or rejects when it cannot take it.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: as with handlers, a port may simply return
  record(run: BackgroundRun): void | Promise<unknown>;
  /**
   * The run is refused by `by` (`loop`, `match`). A port with a history records that; must not throw. `isStored`: it would have been
   * recorded here; otherwise the caller would have waited for it. `isFailure`: it counts as the failure of its hook.
   */
  refuse?(run: BackgroundRun, why: { by: string; reason: string; isStored: boolean; isFailure?: boolean }): void;
  /** Why a person has kept the hook from being called for now; undefined when that is not so. It is then no failure of the hook. */
  paused?(hookId: string): string | undefined;
}

/**
 * Makes one attempt after the other per record, and runs records at once. A run whose `failed` end asks for a retry is retried at that
 * time.
 */
export function inMemoryBackground(clock: Clock, logger: Logger): BackgroundPort {
  const known = new Set<string>();
  let runner: BackgroundRunner | undefined;
  const attempt = (run: BackgroundRun, count: number, delayMs: number) => {
    clock.after(delayMs, async () => {
      const end = (await runner?.(run, count)) ?? { kind: "gone" };
      if (end.kind === "failed" && end.retryInMs !== undefined) return attempt(run, count + 1, end.retryInMs);
      known.delete(run.id);
      if (end.kind === "failed")
        logger.error({ hook: run.hook, id: run.hookId, run: run.id }, `Background hook gave up: ${end.error}`);
    });
  };
  return {
    serve: (one) => {
      runner = one;
    },
    record: (run) => {
      if (known.has(run.id)) return;
      known.add(run.id);
      attempt(run, 1, 0);
    },
  };
}

const FIRST_BACKOFF_MS = 1_000;

/** How a failed attempt ends: retried while the registration allows it. */
export function failedEnd(
  error: unknown,
  attempt: number,
  retry: { attempts: number; backoffMs?: number } | undefined,
): BackgroundEnd {
  const text = errorMessage(error);
  if (retry === undefined || attempt >= retry.attempts) return { kind: "failed", error: text };
  return {
    kind: "failed",
    error: text,
    retryInMs: retryPauseMs(retry.backoffMs ?? FIRST_BACKOFF_MS, attempt),
  };
}
