/** What a handler's result means: for the point that waits for it, and for the history. */
import { errorMessage } from "../../lib/errors.js";
import type { HandlerResult } from "../handler.js";
import { pointResult } from "./decide.js";
import type { RunOutcome } from "./outcome.js";
import type { RunStart } from "./parts.js";

export function judge(result: HandlerResult, start: RunStart): RunOutcome {
  if (start.signal.aborted) return ended(start.signal);
  if (result.kind === "failed") {
    const { error, isRetryable, retryAfterMs, disable } = result;
    return {
      status: result.timedOut === true ? "timed_out" : "failed",
      error,
      isRetryable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(disable === undefined ? {} : { disable }),
    };
  }
  const { decision } = result;
  if (decision.kind === "block") return { status: "blocked", reason: decision.reason, decision };
  const carried = pointResult(decision, start.point, start.definition.phase);
  // Nobody waits for a background run, so nothing has to carry what it decided; only a change that cannot be made is an error.
  if (carried.kind === "impossible") return { status: "failed", error: carried.error, isRetryable: false };
  return { status: "succeeded", decision };
}

/** The run's signal fired: at its deadline, because its caller gave up, or because the gateway stops. */
export function ended(signal: AbortSignal): RunOutcome {
  const { reason } = signal;
  if (reason instanceof DOMException && reason.name === "TimeoutError")
    return { status: "timed_out", error: reason.message, isRetryable: true };
  return { status: "interrupted", reason: errorMessage(reason) };
}
