/** A row as it is written when its run ended outside of the pipeline: refused before it started, cut off, or a plugin's. */
import type { AutomationRun } from "../../domain/automation.js";
import { type RunOutcome, reasonOf } from "../run/outcome.js";

/**
 * The attempt of a plugin's run that the end of the process cut off; the pipeline records those of configured hooks. `endedAt`: of a
 * stop.
 */
export function withStop(row: AutomationRun, reason: string, startedAt: number, endedAt?: number): AutomationRun {
  const { attempt } = row;
  const stopped = { attempt, startedAt, endedAt, status: "interrupted" as const, error: reason, steps: [] };
  return { ...row, attempts: [...row.attempts, stopped] };
}

/** Attempts that a stop cut off: they do not count among those that `retry` allows. One that a crash cut off has no end, and counts. */
export const stopsOf = ({ attempts }: Pick<AutomationRun, "attempts">) =>
  attempts.filter(({ status, endedAt }) => status === "interrupted" && endedAt !== undefined).length;

/** The number of the attempt among those that `retry` allows. */
export const countedAttempt = (run: Pick<AutomationRun, "attempt" | "attempts">): number => run.attempt - stopsOf(run);

export function closeRow(row: AutomationRun, outcome: RunOutcome, now: number): AutomationRun {
  const { leaseOwner: _owner, leaseUntil: _until, statusReason: _reason, ...rest } = row;
  const reason = reasonOf(outcome);
  const closed: AutomationRun = {
    ...rest,
    status: outcome.status,
    statusReason: reason,
    attempts: row.attempts.map((attempt) =>
      attempt.status === "running"
        ? { ...attempt, endedAt: now, status: outcome.status === "queued" ? "failed" : outcome.status }
        : attempt,
    ),
  };
  if (outcome.status === "queued") return { ...closed, dueAt: outcome.dueAt };
  const { pendingPayload: _payload, ...ended } = closed;
  return { ...ended, endedAt: now };
}
