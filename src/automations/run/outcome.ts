/** How a run of a configured hook ended. */
import { formatSkipReason } from "../../domain/skip-reason.js";
import type { Decision } from "../handler.js";

export type RunOutcome =
  | { readonly status: "succeeded"; readonly decision: Decision }
  | { readonly status: "blocked"; readonly reason: string; readonly decision: Decision }
  /** `by`: the gate or condition, first in the record. */
  | {
      readonly status: "skipped";
      readonly by: string;
      readonly reason: string;
      /** The hook ran, and an earlier hook overruled its decision, or a part of it. */
      readonly decision?: Decision | undefined;
    }
  | ({ readonly status: "failed" | "timed_out" } & Failure)
  /** The effect of the run is not known, or the run was stopped. */
  | { readonly status: "interrupted"; readonly reason: string }
  /** The run failed, and is tried again; or it was stopped, and starts again. */
  | { readonly status: "queued"; readonly reason: string; readonly dueAt: number; readonly wasStopped?: true };

export interface Failure {
  readonly error: string;
  readonly isRetryable: boolean;
  readonly retryAfterMs?: number;
  /** The hook is switched off, with this reason. */
  readonly disable?: string;
}

/** The reason that is written beside the status. */
export function reasonOf(outcome: RunOutcome): string | undefined {
  switch (outcome.status) {
    case "succeeded":
      return undefined;
    case "skipped":
      return formatSkipReason(outcome);
    case "failed":
    case "timed_out":
      return outcome.error;
    case "blocked":
    case "interrupted":
    case "queued":
      return outcome.reason;
  }
}
