/** The meaning of a handler's result: for the point that waits for it, and for the history. */
import { failedCallsText, toolCallsOf } from "../../domain/automation.js";
import { errorMessage } from "../../lib/errors.js";
import { isWaitedFor } from "../definition/check-effects.js";
import type { Decision, HandlerFacts, HandlerResult } from "../handler.js";
import type { RunStart } from "./deps.js";
import type { RunOutcome } from "./outcome.js";
import { outsideProblem } from "./outside-decision.js";
import { pointResult } from "./point-result.js";
import { undecidedError } from "./undecided.js";

export function outcomeOf(result: HandlerResult, start: RunStart): RunOutcome {
  if (start.signal.aborted) return ended(start.signal);
  if (result.kind === "failed") {
    const { error, isRetryable, retryAfterMs, disable } = result;
    return {
      status: result.timedOut === true ? "timed_out" : "failed",
      error,
      isRetryable,
      retryAfterMs,
      disable,
    };
  }
  if (result.kind === "skipped") return { status: "skipped", by: result.by, reason: result.reason };
  const error = result.undecided && (undecidedError(result.undecided, start) ?? withoutEffect(result));
  if (error !== undefined) return { status: "failed", error, isRetryable: false };
  return outcomeOfDecision(result.decision, start);
}

/** A model that decided nothing acts by its tools only: with all calls failed, it did nothing. */
function withoutEffect(facts: HandlerFacts): string | undefined {
  const { calls, failed } = toolCallsOf(facts);
  const last = failed.length === calls.length ? failed.at(-1) : undefined;
  return last && `${failedCallsText(facts)}: ${last.error}`;
}

/** A decision without effect is a failure: the run must not look as if its decision had taken effect. */
function outcomeOfDecision(decision: Decision, { point, definition, payload, check }: RunStart): RunOutcome {
  if (decision.kind === "pass") return { status: "succeeded", decision };
  const failed = (error: string): RunOutcome => ({ status: "failed", error, isRetryable: false });
  const carried = pointResult(decision, point, definition.phase);
  if (carried.kind === "impossible") return failed(carried.error);
  if (!isWaitedFor(definition.execution) && point.model !== "turn")
    return failed(`${decision.kind} has no effect here: nothing waits for a hook that is ${definition.execution}`);
  const isOutside = decision.kind === "modify" && definition.run.handler.isOutside;
  const problem = isOutside ? outsideProblem(point.name, payload, decision.patch) : undefined;
  if (problem !== undefined) return failed(problem);
  try {
    const overruled = check?.(decision);
    if (overruled !== undefined) return { status: "skipped", by: "overruled", reason: overruled, decision };
  } catch (error) {
    return failed(errorMessage(error));
  }
  return decision.kind === "block"
    ? { status: "blocked", reason: decision.reason, decision }
    : { status: "succeeded", decision };
}

/** The run's signal fired: at its deadline, because its caller gave up, or because the gateway stops. */
export function ended(signal: AbortSignal): RunOutcome {
  const { reason } = signal;
  if (reason instanceof DOMException && reason.name === "TimeoutError")
    return { status: "timed_out", error: reason.message, isRetryable: true };
  return { status: "interrupted", reason: errorMessage(reason) };
}
