/** How a run of a configured hook ended. */
import { formatSkipReason } from "../../domain/skip-reason.js";
import type { Decision } from "../handler.js";

export type RunOutcome =
  | { readonly status: "succeeded"; readonly decision: Decision }
  | { readonly status: "blocked"; readonly reason: string; readonly decision: Decision }
  /** `by`: the gate or condition, first in what is recorded. */
  | {
      readonly status: "skipped";
      readonly by: string;
      readonly reason: string;
      /** It ran, and an earlier hook overruled what it decided, or a part of that. */
      readonly decision?: Decision | undefined;
    }
  | ({ readonly status: "failed" | "timed_out" } & Failure)
  /** It cannot be said what it did, or it was stopped. */
  | { readonly status: "interrupted"; readonly reason: string }
  /** It failed, and is tried again; or it was stopped, and starts again. */
  | { readonly status: "queued"; readonly reason: string; readonly dueAt: number; readonly wasStopped?: true };

export interface Failure {
  readonly error: string;
  readonly isRetryable: boolean;
  readonly retryAfterMs?: number;
  /** The hook is switched off, with this reason. */
  readonly disable?: string;
}

/** What is written beside the status. */
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
