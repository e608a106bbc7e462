/**
 * `fetch` for the model's server: each request has a time limit that includes its body, and one that met a passing trouble is
 * repeated after a pause. Below the client library, so that a repeated request never repeats a tool.
 */

import { HookgateError } from "../../lib/errors.js";
import { isTransientStatus, retryAfterMs } from "../../lib/retry-after.js";
import { backoffMs } from "../../lib/time/backoff.js";
import { type Clock, wait } from "../../lib/time/clock.js";
import { jsonExcess } from "../../lib/validation/json-depth.js";

export interface Patience {
  clock: Clock;
  timeoutMs: number;
  /** Further attempts after the first. */
  retries: number;
  signal: AbortSignal;
}

export class RequestTimedOut extends Error {}

const BACKOFF = { firstMs: 1_000, maxMs: 30_000 };
/** A server that asks for a longer pause is not waited for: the run's own retry may. */
const LONGEST_PAUSE_MS = 60_000;
const MAX_ANSWER_BYTES = 20_000_000;

export function patientFetch({ clock, timeoutMs, retries, signal }: Patience): typeof fetch {
  return async (input, init) => {
    for (let attempt = 1; ; attempt++) {
      const tried = await once(input, init).catch((error: unknown) => ({ error }));
      const isLast = attempt > retries || signal.aborted;
      if ("error" in tried) {
        if (isLast || tried.error instanceof HookgateError) throw tried.error;
        await wait(clock, backoffMs(BACKOFF, attempt), signal);
        continue;
      }
      const pauseMs =
        retryAfterMs(tried.headers.get("retry-after") ?? undefined, clock.now()) ?? backoffMs(BACKOFF, attempt);
      if (!isPassing(tried.status) || isLast || pauseMs > LONGEST_PAUSE_MS) return tried;
      await wait(clock, pauseMs, signal);
    }
  };

  async function once(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): Promise<Response> {
    const ending = new AbortController();
    const timer = clock.after(timeoutMs, () => ending.abort(new RequestTimedOut("no answer in time")));
    const onAbort = () => ending.abort(signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      // A redirect would take the key somewhere else.
      const response = await fetch(input, { ...init, signal: ending.signal, redirect: "error" });
      const body = await whole(response);
      const { status, statusText, headers } = response;
      const excess = response.ok ? jsonExcess(Buffer.from(body).toString()) : undefined;
      if (excess !== undefined)
        throw new HookgateError({ code: "MODEL_FAILED", message: `the model's answer ${excess}` });
      return new Response(status === 204 || body.length === 0 ? null : body, { status, statusText, headers });
    } catch (error) {
      throw ending.signal.aborted ? ending.signal.reason : error;
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
    }
  }
}

/** 409: a lock at the server timed out. */
const isPassing = (status: number) => status === 409 || isTransientStatus(status);

async function whole(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES)
      throw new HookgateError({ code: "MODEL_FAILED", message: "the model's server answers without end" });
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}
