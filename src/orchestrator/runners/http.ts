/**
 * Another system does the work: the task is sent to it as JSON, and 2xx means done. `webhook-id` is the run's id, so that a receiver
 * knows a request that comes again; its answer is the result.
 */

import { errorMessage, HookgateError } from "../../lib/errors.js";
import type { Destinations } from "../../lib/outgoing/destinations.js";
import { sign } from "../../lib/signing/webhook-signature.js";
import type { Clock } from "../../lib/time/clock.js";
import { definedOf } from "../../lib/without-undefined.js";
import type { HttpConfig } from "../config.js";
import { briefOf, dataOf, failedEnding, howOf, type Job, type Runner } from "./runner.js";

export interface HttpDeps {
  variable(name: string): string | undefined;
  destinations: Destinations;
  clock: Clock;
}

/** The job's signal ends it; this is only a bound. */
const LONGEST_MS = 24 * 60 * 60 * 1000;

export function httpRunner(config: HttpConfig, deps: HttpDeps): Runner {
  return async (job) => {
    try {
      const body = JSON.stringify({
        type: "task.run",
        timestamp: new Date(deps.clock.now()).toISOString(),
        data: briefOf(job),
      });
      const headers = headersOf(config, job, body, deps);
      job.progress({ now: `${config.method} ${new URL(config.url).host}` });
      // Half a megabyte of HTTP client, only for installations with such runners.
      const { guardedRequest } = await import("../../lib/outgoing/request.js");
      const answer = await guardedRequest(config.url, {
        method: config.method,
        headers,
        body,
        signal: job.signal,
        timeoutMs: LONGEST_MS,
        maxBytes: job.maxBytes,
        redirects: 0,
        allow: deps.destinations,
      });
      const output = answer.body.toString("utf8");
      const data = answer.truncated ? undefined : dataOf(output);
      const facts = { output, httpStatus: answer.status, data };
      if (answer.status >= 200 && answer.status < 300) return { how: "ended", result: { ok: true, ...facts } };
      const error = `${new URL(config.url).host} answered ${answer.status}`;
      return { how: "ended", result: { ok: false, ...facts, error } };
    } catch (error) {
      if (!job.signal.aborted) return failedEnding(errorMessage(error), job.signal);
      return failedEnding(
        howOf(job.signal) === "timed_out" ? "it did not answer in time" : "it was given up before it answered",
        job.signal,
      );
    }
  };
}

function headersOf(
  config: HttpConfig,
  { runId }: Job,
  body: string,
  { variable, clock }: HttpDeps,
): Record<string, string> {
  const at = clock.now();
  const secret = (name: string) => {
    const value = variable(name);
    if (value !== undefined) return value;
    throw new HookgateError({ code: "SECRET_MISSING", message: `the variable ${name} is not set` });
  };
  return {
    ...Object.fromEntries(Object.entries(config.headers).map(([name, value]) => [name.toLowerCase(), value])),
    "content-type": "application/json",
    "webhook-id": runId,
    "webhook-timestamp": String(Math.floor(at / 1000)),
    ...definedOf({
      authorization: config.bearer_env === undefined ? undefined : `Bearer ${secret(config.bearer_env)}`,
      "webhook-signature":
        config.sign_env === undefined ? undefined : sign({ id: runId, at, body }, [secret(config.sign_env)]),
    }),
  };
}
