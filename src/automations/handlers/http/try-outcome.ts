/** The meaning of an answer: passed, decided, failed, or worth another attempt. */
import type { HookgateError } from "../../../lib/errors.js";
import type { GuardedResponse } from "../../../lib/outgoing/request.js";
import { isTransientStatus, retryAfterMs } from "../../../lib/retry-after.js";
import type { HandlerResult } from "../../handler.js";
import { redirectProblem } from "../../outgoing/compose.js";
import { readDecision } from "../decision.js";
import type { HttpOptions } from "./options.js";

export interface TryOutcome {
  result: HandlerResult;
  /** The same request may work later. */
  mayRepeat: boolean;
  retryAfterMs?: number;
  status?: number;
  /** The text of the answer. */
  text?: string;
}

export function outcomeOf(answer: GuardedResponse, options: HttpOptions, url: string, now: number): TryOutcome {
  const { status } = answer;
  const text = answer.body.toString("utf8");
  const seen = { status, text };
  if (status >= 200 && status < 300) return { ...seen, mayRepeat: false, result: passed(answer, text, options) };
  const host = URL.canParse(url) ? new URL(url).host : "the address";
  if (status === 410)
    return {
      ...seen,
      mayRepeat: false,
      result: { ...failed(`${host} answered 410 Gone`), disable: `${host} answered 410 Gone` },
    };
  const error = redirectProblem(answer, options) ?? `${host} answered ${status}`;
  const pause = retryAfterMs(answer.headers["retry-after"], now);
  const isBlock = options.decision === "status";
  return {
    ...seen,
    mayRepeat: isTransientStatus(status),
    retryAfterMs: isTransientStatus(status) && pause !== undefined ? pause : undefined,
    result: isBlock
      ? { kind: "decided", decision: { kind: "block", reason: error } }
      : {
          ...failed(error, isTransientStatus(status)),
          retryAfterMs: isTransientStatus(status) && pause !== undefined ? pause : undefined,
        },
  };
}

/** No answer came. */
export function outcomeOfError(error: HookgateError | undefined, isAborted: boolean, message: string): TryOutcome {
  if (isAborted) return { mayRepeat: false, result: { ...failed("it took too long", true), timedOut: true } };
  const mayRepeat = error?.retryable ?? false;
  const timedOut = error?.code === "OUTGOING_TIMED_OUT";
  return { mayRepeat, result: { ...failed(message, mayRepeat), timedOut: timedOut || undefined } };
}

function passed({ truncated }: GuardedResponse, text: string, { max_bytes, decision }: HttpOptions): HandlerResult {
  const read = readDecision(text);
  if (read.kind === "decision") return { kind: "decided", decision: read.decision };
  if (truncated && text.trimStart().startsWith("{"))
    return failed(`the answer is longer than max_bytes (${max_bytes}): whether it decides cannot be read`);
  if (read.kind === "unreadable") return failed(`the answer cannot be read: ${read.error}`);
  const undecided = { given: text, isByStatus: decision === "status" };
  return { kind: "decided", decision: { kind: "pass" }, undecided };
}

function failed(error: string, isRetryable = false) {
  return { kind: "failed" as const, error, isRetryable };
}
