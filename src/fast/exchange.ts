/**
 * Makes one request to a platform and reads the whole answer, at undici's lowest level: no stream, no fetch objects, half the cost.
 * The error of a request shows whether any of it was written, because only an unwritten request may be repeated blindly.
 *
 * Benchmark: bench/fast.ts.
 */
import type { Dispatcher } from "undici";
import { Aborts } from "./aborts.js";

/** No platform sends that much; a server in between may, and memory holds all of it. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
export const ANSWER_TOO_LARGE = "ANSWER_TOO_LARGE";

export interface Answer {
  status: number;
  /** Names and values in turn, as they came. */
  headers: readonly Buffer[];
  body: Buffer;
}

/** No whole answer came. Never holds the path, which may hold a token. */
export class ExchangeError extends Error {
  /** False: nothing reached the server, so it may be repeated. True: something may have. */
  readonly isWritten: boolean;
  /** The error code of Node, undici or this file. */
  readonly code: string | undefined;

  constructor(message: string, isWritten: boolean, code?: string) {
    super(message);
    this.name = "ExchangeError";
    this.isWritten = isWritten;
    this.code = code;
  }
}

export interface ExchangeLimits {
  /** Ends the request. */
  signal?: AbortSignal | undefined;
  /** For a signal that many requests share. */
  aborts?: Aborts;
  maxBytes?: number;
}

/** Rejects with an `ExchangeError`. The timeouts of the request, or those of its pool, bound how long it takes. */
export function exchange(
  pool: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { signal, aborts = new Aborts(), maxBytes = MAX_ANSWER_BYTES }: ExchangeLimits = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    let status = 0;
    let headers: readonly Buffer[] = [];
    let isWritten = false;
    let cancel: ((error: Error) => void) | undefined;
    let off: (() => void) | undefined;
    const fail = (error: Error) => {
      off?.();
      reject(new ExchangeError(describeError(error), isWritten, codeOf(error)));
    };
    const giveUp = () => {
      const error = new Error("the request was given up");
      cancel?.(error);
      fail(error);
    };
    if (signal?.aborted) return giveUp();
    if (signal) off = aborts.on(signal, giveUp);
    pool.dispatch(request, {
      /** Comes just before the first byte is written. */
      onConnect(abort) {
        cancel = abort;
        if (signal?.aborted) abort(new Error("the request was given up"));
        else isWritten = true;
      },
      onHeaders(statusCode, raw) {
        // Informational ones (1xx) come before the answer itself.
        status = statusCode;
        headers = raw;
        return true;
      },
      onData(chunk) {
        sizeBytes += chunk.length;
        if (sizeBytes <= maxBytes) chunks.push(chunk);
        else cancel?.(new ExchangeError(`the answer is larger than ${maxBytes} bytes`, true, ANSWER_TOO_LARGE));
        return true;
      },
      onComplete() {
        off?.();
        resolve({ status, headers, body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
      },
      onError: fail,
    });
  });
}

/** A header's value, of names and values in turn; `name` in lower case. */
export function headerOf(headers: readonly Buffer[], name: string): string | null {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const key = headers[i] as Buffer;
    if (key.length === name.length && String(key).toLowerCase() === name) return String(headers[i + 1]);
  }
  return null;
}

/** Undici's errors name the host at most; several of them come as one without a message of its own. */
function describeError(error: Error): string {
  const parts = error instanceof AggregateError ? error.errors.map((one: unknown) => Object(one).message) : [];
  const code = codeOf(error) ?? "";
  const text = error.message || parts.join("; ") || error.name;
  return code && !text.includes(code) ? `${text} (${code})` : text;
}

function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}
