/** A row as it is written when its run ended outside of the pipeline: refused before it began, cut off, or a plugin's. */
import type { AutomationRun } from "../../domain/automation.js";
import { type RunOutcome, reasonOf } from "../run/outcome.js";

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
