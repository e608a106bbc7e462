/** `http:` checks the answer of a server. No answer at all means that the server is not up, so it is no broken check. */
import type { ExpectationOf } from "../../../domain/orchestrator/expectation.js";
import { errorMessage, HookgateError } from "../../../lib/errors.js";
import { type CheckContext, type Found, notSo } from "./check.js";
import { checkText, excerpt } from "./text.js";

const MAX_BYTES = 1024 * 1024;

export async function checkHttp(
  expected: ExpectationOf<"http">,
  { request, timeoutMs, signal }: CheckContext,
): Promise<Found> {
  try {
    const { status, body } = await request(expected.http, {
      method: expected.method ?? "GET",
      timeoutMs,
      signal,
      maxBytes: MAX_BYTES,
    });
    const text = body.toString("utf8");
    const isWanted = expected.status === undefined ? status >= 200 && status < 300 : status === expected.status;
    if (!isWanted)
      return notSo(`it answered ${status}, not ${expected.status ?? "2xx"}; its answer is ${excerpt(text)}`);
    return checkText(text, expected, "its answer");
  } catch (error) {
    // Refused by the guard: the expectation is wrong, not the work.
    if (!(error instanceof HookgateError) || !error.retryable) throw error;
    return notSo(errorMessage(error));
  }
}
