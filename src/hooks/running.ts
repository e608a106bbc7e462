/**
 * The handlers that run at this moment, read from the deadline wheel on demand: every handler that is waited for is armed there, so
 * dispatches keep no list of their own. A synchronous handler is never seen running.
 */
import type { Cause } from "../domain/journal.js";
import { type DeadlineWheel, TICK_MS } from "../fast/deadline-wheel.js";
import { SequenceWait, VoidWait } from "../fast/waits.js";
import { TimedCall } from "./dispatch/timed-call.js";
import { HookRun, stopped } from "./run.js";

export interface RunningHook {
  hookId: string;
  runId: string;
  dispatchId: string;
  /** The attempt of the dispatch: see `HookContext`. */
  attempt: number;
  point: string;
  /** The cause of the dispatch. */
  cause: Cause | undefined;
  /** To a hundredth of a second. */
  forMs: number;
  /** How much of that it waited for its turn; `waitsUnder` while it does. */
  waitedMs: number;
  waitsUnder: string | undefined;
}

/** The longest first. */
export function runningHooks(wheel: DeadlineWheel): RunningHook[] {
  const running: RunningHook[] = [];
  for (const { item, leftTicks } of wheel.armed()) {
    const isRun = item instanceof SequenceWait || item instanceof VoidWait || item instanceof TimedCall;
    const run: HookRun | undefined = isRun ? item.awaitedRun() : undefined;
    if (run === undefined) continue;
    const { id: hookId, runId, dispatchId, attempt, hook: point, cause } = run;
    const forTicks = Math.max(0, HookRun.entryOf(run).timeoutTicks - leftTicks);
    const forMs = forTicks * TICK_MS;
    const turn = HookRun.turnOf(run);
    const isWaiting = turn !== undefined && turn.untilMs === undefined;
    const waitedMs = isWaiting ? forMs : turn === undefined ? 0 : Math.min(forMs, (turn.untilMs ?? 0) - turn.sinceMs);
    const waitsUnder = isWaiting ? turn.limit : undefined;
    running.push({ hookId, runId, dispatchId, attempt, point, cause, forMs, waitedMs, waitsUnder });
  }
  return running.sort((a, b) => b.forMs - a.forMs);
}

const DETACHED = ["fire_and_record", "background"];

/** The process stops: runs under way are recorded as cut off. Turn handlers end with their turn. `runId`: this one only. */
export function cutOffRunning(wheel: DeadlineWheel, runId?: string): void {
  for (const { item } of [...wheel.armed()]) {
    if (!(item instanceof SequenceWait || item instanceof VoidWait || item instanceof TimedCall)) continue;
    const run: HookRun | undefined = item.awaitedRun();
    if (run === undefined || (runId !== undefined && run.runId !== runId)) continue;
    if (!(item instanceof TimedCall) || DETACHED.includes(HookRun.entryOf(run).execution)) item.cutOff(stopped());
  }
}
