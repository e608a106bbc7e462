/** `run: http`: notifies another system by a signed request, until that system has heard or the attempts are used up. */

import { errorMessage, HookgateError } from "../../../lib/errors.js";
import { backoffMs } from "../../../lib/time/backoff.js";
import { wait } from "../../../lib/time/clock.js";
import type { Handler, HandlerFacts, HandlerResult } from "../../handler.js";
import { authHeaders, withoutLogin } from "../../outgoing/authorize.js";
import { compose, targetOf } from "../../outgoing/compose.js";
import { addressVariables, formsOf, targetProblems, variablesOf } from "../../outgoing/fields.js";
import type { RunContext } from "../../run-context.js";
import { requestFollowing, type Sendable } from "./follow.js";
import { type HttpOptions, httpOptions, secretVariables } from "./options.js";
import { signatureHeaders } from "./signature-headers.js";
import { outcomeOf, outcomeOfError, type TryOutcome } from "./try-outcome.js";

export const httpHandler: Handler<HttpOptions> = {
  name: "http",
  summary: "Sends a signed request (Standard Webhooks); the answer may carry a decision.",
  options: httpOptions,
  isOutside: true,
  places: ["url"],
  forms: formsOf,
  signingSecrets: secretVariables,
  secrets: (options) => [...secretVariables(options), ...variablesOf(options)],
  addresses: addressVariables,
  missing: targetProblems,
  decides: ({ decision }) => (decision === "status" ? "decision" : undefined),
  attemptMs: ({ timeout }) => timeout,
  unused({ attempts }, isWritten) {
    if (attempts > 1) return [];
    const message = "a request with one attempt has no pause: remove it, or set `attempts` to 2 or more";
    return ["backoff", "max_backoff"].filter(isWritten).map((setting) => ({ setting, message }));
  },
  async run(options, context) {
    let request: Prepared;
    try {
      request = prepare(options, context);
    } catch (error) {
      // A missing secret or a broken header: nothing went out, and nothing will.
      return { kind: "failed", error: errorMessage(error), isRetryable: false };
    }
    if (context.dryRun) return { kind: "decided", decision: { kind: "pass" }, ...facts(request, []) };
    return deliver(request, options, context);
  },
};

interface Prepared extends Sendable {
  /** The part of the request that a person may read. */
  rendered: string;
}

function prepare(options: HttpOptions, context: RunContext): Prepared {
  const given = options.body ?? (options.method === "GET" ? undefined : defaultBody(context));
  const { body, headers } = compose(given, options.headers);
  const authorized = { ...headers, ...authHeaders(options.auth, context.reach) };
  // Made once only for its errors: a secret that is missing or no key is reported before anything goes out.
  signatureHeaders(options, body ?? "", context);
  const { url, shown } = targetOf(options, context.reach);
  const line = `${options.method} ${shown}`;
  return {
    url,
    body,
    headers: authorized,
    rendered: body === undefined ? line : `${line}\n\n${body}`,
  };
}

/** The shape that Standard Webhooks recommends; the same bytes for every attempt. */
function defaultBody({ eventName, event, firedAt, hookId, runId }: RunContext) {
  return {
    type: eventName,
    timestamp: new Date(firedAt).toISOString(),
    data: event,
    hook_id: hookId,
    run_id: runId,
  };
}

interface Try {
  status?: number;
  error?: string;
}

async function deliver(request: Prepared, options: HttpOptions, context: RunContext): Promise<HandlerResult> {
  const { clock, signal } = context;
  const tries: Try[] = [];
  for (let attempt = 1; ; attempt++) {
    const outcome = await once(request, options, context);
    tries.push({
      status: outcome.status,
      error: outcome.result.kind === "failed" ? outcome.result.error : undefined,
    });
    const result = { ...outcome.result, ...facts(request, tries, outcome) };
    const pauseMs =
      outcome.retryAfterMs ?? backoffMs({ firstMs: options.backoff, maxMs: options.max_backoff }, attempt);
    if (!outcome.mayRepeat || attempt >= options.attempts || pauseMs > options.max_backoff) return result;
    try {
      await wait(clock, pauseMs, signal);
    } catch {
      // The run's deadline came during the pause: the failure of the last attempt is the better reason.
      return result.kind === "failed" ? { ...result, timedOut: true } : result;
    }
  }
}

async function once(request: Prepared, options: HttpOptions, context: RunContext): Promise<TryOutcome> {
  try {
    const answer = withoutLogin(await requestFollowing(request, options, context), options.auth, context.reach);
    return outcomeOf(answer, options, request.url, context.clock.now());
  } catch (error) {
    const known = error instanceof HookgateError ? error : undefined;
    return outcomeOfError(known, context.signal.aborted, errorMessage(error));
  }
}

function facts({ rendered }: Prepared, tries: readonly Try[], outcome?: TryOutcome): HandlerFacts {
  if (!outcome) return { rendered, output: { dryRun: true } };
  const { status, text } = outcome;
  return {
    rendered,
    output: {
      status,
      body: text === undefined || text === "" ? undefined : text,
      attempts: tries,
    },
  };
}
