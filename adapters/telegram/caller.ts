/** All requests to the Bot API: its addresses, their time limits, and the reading of answers. The methods are typed by grammY. */
import type { ApiMethods } from "grammy/types";
import { Pool } from "undici";
import { CONNECTIONS } from "../../src/domain/chat/platform-defaults.js";
import type { Aborts } from "../../src/fast/aborts.js";
import { ANSWER_TOO_LARGE, ExchangeError, exchange } from "../../src/fast/exchange.js";
import { tooLarge } from "../../src/lib/outgoing/file-bytes.js";
import { formatDuration } from "../../src/lib/time/duration.js";

/** Polls have a connection of their own, so that they never wait for sends. */
const POLL_CONNECTIONS = 2;
const JSON_TYPE = { "content-type": "application/json" };
/** The time that a poll may take beyond the time that Telegram was asked to hold it. */
const POLL_SLACK_MS = 15_000;
/** The codes of undici for a server that sent nothing in its time. */
const SILENT: ReadonlySet<string | undefined> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);
/** The name of the part that holds the file of an upload. */
const FILE = "file";

export interface CallerOptions {
  token: string;
  apiUrl: string;
  pollTimeoutMs: number;
  requestTimeoutMs: number;
  uploadTimeoutMs: number;
  fileSilenceMs: number;
}

/** A file that goes with a request. Where the method takes a file, the payload names it by `ATTACHED`. */
export interface Upload {
  bytes: Buffer;
  name: string;
}

/** https://core.telegram.org/bots/api#sending-files */
export const ATTACHED = `attach://${FILE}`;

/** The Bot API refused a request, in its own words. */
export class Refusal extends Error {
  readonly status: number;
  /** https://core.telegram.org/bots/api#responseparameters, which a proxy may have written. */
  readonly parameters: { retry_after?: unknown; migrate_to_chat_id?: unknown };

  constructor(status: number, description: string, parameters: unknown) {
    super(description);
    this.name = "Refusal";
    this.status = status;
    this.parameters = Object(parameters);
  }
}

/** An answer came that cannot be used. Telegram may have done what was requested. */
export class UnusableAnswer extends Error {
  /** The HTTP status of an answer that the Bot API would not give (a proxy's error page, or one that was cut short). */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.name = "UnusableAnswer";
    this.status = status;
  }
}

/** The answer to a method has another shape than the Bot API gives it. */
export function unexpected(method: string, result: unknown): UnusableAnswer {
  const shape = Array.isArray(result) ? "a list" : typeof result === "object" ? "an object" : JSON.stringify(result);
  return new UnusableAnswer(`the result of ${method} cannot be read (${shape}): a proxy may be in between`);
}

type Method = keyof ApiMethods;
type Given<M extends Method> = NonNullable<Parameters<ApiMethods[M]>[0]>;
type Payload<M extends Method> = [Given<M>] extends [never] ? Record<string, never> : Given<M>;

export interface Caller {
  readonly apiUrl: string;
  /** Calls one method; the signal ends the call. Rejects with a `Refusal`, an `UnusableAnswer` or an `ExchangeError`. */
  call<M extends Method>(
    method: M,
    payload: Payload<M>,
    signal?: AbortSignal,
    upload?: Upload,
  ): Promise<ReturnType<ApiMethods[M]>>;
  /** The bytes of a file that `getFile` gave the path of; rejects above `maxBytes`, and when its server is silent or takes too long. */
  download(filePath: string, maxBytes: number, signal: AbortSignal): Promise<Buffer>;
  /** Ends the requests under way. */
  close(): Promise<void>;
}

/** `aborts`: one for all callers, because the signals outlive a run. */
export function openCaller(options: CallerOptions, aborts: Aborts): Caller {
  const { origin, pathname } = new URL(options.apiUrl);
  const prefix = pathname.replace(/\/+$/, "");
  const connect = { timeout: Math.min(10_000, options.requestTimeoutMs) };
  const pool = new Pool(origin, { connections: CONNECTIONS, connect });
  const polls = new Pool(origin, { connections: POLL_CONNECTIONS, connect });
  const within = (timeoutMs: number) => ({ headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  return {
    apiUrl: options.apiUrl,
    async call<M extends Method>(method: M, payload: Payload<M>, signal?: AbortSignal, upload?: Upload) {
      const path = `${prefix}/bot${options.token}/${method}`;
      const isPoll = method === "getUpdates";
      const timeoutMs = isPoll
        ? options.pollTimeoutMs + POLL_SLACK_MS
        : upload
          ? options.uploadTimeoutMs
          : options.requestTimeoutMs;
      const content = upload
        ? { body: formOf(payload, upload) }
        : { body: JSON.stringify(payload), headers: JSON_TYPE };
      const request = { path, method: "POST" as const, ...content, ...within(timeoutMs) };
      const answer = await exchange(isPoll ? polls : pool, request, { aborts, signal });
      // The shape of a result is the method's, as grammY types it.
      return resultOf(answer.status, answer.body.toString("utf8")) as ReturnType<ApiMethods[M]>;
    },
    async download(filePath, maxBytes, signal) {
      const path = `${prefix}/file/bot${options.token}/${filePath}`;
      const request = { path, method: "GET" as const, ...within(options.fileSilenceMs) };
      const timeUp = AbortSignal.timeout(options.uploadTimeoutMs);
      const limits = { signal: AbortSignal.any([signal, timeUp]), maxBytes };
      const { status, body } = await exchange(pool, request, limits).catch((error: ExchangeError) => {
        if (error.code === ANSWER_TOO_LARGE) throw tooLarge(maxBytes);
        if (SILENT.has(error.code))
          throw notGiven(`its server sent nothing for ${formatDuration(options.fileSilenceMs)}`);
        throw timeUp.aborted ? notGiven(`it did not arrive within ${formatDuration(options.uploadTimeoutMs)}`) : error;
      });
      if (status !== 200) throw new UnusableAnswer(`the file was answered with HTTP ${status}`, status);
      return body;
    },
    async close() {
      await Promise.all([pool.destroy(), polls.destroy()]);
    },
  };
}

/** https://core.telegram.org/bots/api#making-requests */
function formOf(payload: object, { bytes, name }: Upload): FormData {
  const form = new FormData();
  for (const [field, value] of Object.entries(payload))
    if (value != null) form.append(field, typeof value === "object" ? JSON.stringify(value) : String(value));
  form.append(FILE, new Blob([new Uint8Array(bytes)]), name);
  return form;
}

const notGiven = (why: string) => new ExchangeError(why, true);

/** Throws a `Refusal` or an `UnusableAnswer`. */
export function resultOf(status: number, text: string): unknown {
  const { ok, result, error_code: code = status, description, parameters } = parsed(text);
  if (ok === true && result != null && status < 300) return result;
  // A broken success does not show whether Telegram did what was requested.
  if (ok !== undefined && ok !== true && typeof code === "number" && Number.isInteger(code) && code >= 400)
    throw new Refusal(code, String(description ?? "refused without a reason"), parameters);
  throw new UnusableAnswer(`the answer was HTTP ${status}, but not one of the Bot API`, status);
}

function parsed(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {}; // the caller reports it, with the status
  }
}
