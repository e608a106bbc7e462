/**
 * Requests to the Bot API: grammY's methods over a keep-alive pool, four times cheaper than its own node-fetch. Knows of a
 * request that failed whether any of it was written, because only an unwritten one may be repeated blindly.
 */
import type { Readable } from "node:stream";
import { Api, GrammyError, type Transformer } from "grammy";
import { Pool } from "undici";
import { Aborts } from "../../src/lib/aborts.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Logger } from "../../src/lib/logger.js";
import { contentOf, describeError, type PostAnswer, PostError } from "../../src/lib/posting/answer.js";
import { Posting } from "../../src/lib/posting/posting.js";

/** Polls have a connection of their own, so that they never wait for sends. */
const CONNECTIONS = 256;
const POLL_CONNECTIONS = 2;
const POLL_METHOD = "getUpdates";
const JSON_TYPE = "application/json";
/** What may carry a file. */
const UPLOADS: ReadonlySet<string> = new Set([
  "sendPhoto",
  "sendDocument",
  "sendAudio",
  "sendVideo",
  "sendAnimation",
  "sendSticker",
  "editMessageMedia",
]);
/** What a poll may take beyond the time that Telegram was asked to hold it. */
const POLL_SLACK_MS = 15_000;

export interface TransportOptions {
  token: string;
  apiUrl: string;
  pollTimeoutMs: number;
  requestTimeoutMs: number;
  uploadTimeoutMs: number;
}

/** No usable answer came. Never holds the address, which holds the token. */
export class TransportError extends Error {
  /** False: nothing reached the platform. */
  readonly isWritten: boolean;
  /** The HTTP status of an answer that the Bot API would not give (a proxy's error page, or one that was cut short). */
  readonly status: number | undefined;

  constructor(message: string, isWritten: boolean, status?: number) {
    super(message);
    this.name = "TransportError";
    this.isWritten = isWritten;
    this.status = status;
  }
}

/** The answer to a method has another shape than the Bot API gives it. What was asked may have been done. */
export function unexpected(method: string, result: unknown): TransportError {
  const shape = Array.isArray(result) ? "a list" : typeof result === "object" ? "an object" : JSON.stringify(result);
  return new TransportError(`the result of ${method} cannot be read (${shape}): a proxy may be in between`, true);
}

/** The Bot API's methods, typed by grammY. */
export type BotApi = Api["raw"];

export interface Transport {
  /**
   * One call of the Bot API, ended by the signal. grammY's own signals are a polyfill's, which costs more than the rest of
   * its client; so ours goes past it.
   */
  call<T>(request: (api: BotApi) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** The bytes of a file that `getFile` gave the path of; rejects above `maxBytes`. */
  download(filePath: string, maxBytes: number, signal: AbortSignal): Promise<Buffer>;
  /** Ends what is under way. */
  close(): Promise<void>;
}

/** The part of a fetch call that grammY makes. */
interface ClientRequest {
  headers?: Record<string, string>;
  body?: string | Readable;
}

interface ClientResponse {
  json(): unknown;
}

export function openTransport(options: TransportOptions, logger: Logger): Transport {
  const { origin, pathname } = new URL(options.apiUrl);
  const prefix = pathname.replace(/\/+$/, "");
  const connect = { timeout: Math.min(10_000, options.requestTimeoutMs) };
  const pool = new Pool(origin, { connections: CONNECTIONS, connect });
  const polls = new Pool(origin, { connections: POLL_CONNECTIONS, connect });
  const target = {
    origin,
    headers: { "content-type": JSON_TYPE },
    timeoutMs: options.requestTimeoutMs,
    connectTimeoutMs: connect.timeout,
    readHeaders: [],
    readBody: POSTED,
  };
  const posting = new Posting({ target, logger });
  const aborts = new Aborts();

  /** Of the call that is being made: grammY asks for its request before its method returns. */
  let current: AbortSignal | undefined;

  /** A call without a file goes past grammY's client, whose signals, layers and payload walk cost more than the request. */
  const caller = (method: string): Caller => {
    const path = `${prefix}/bot${options.token}/${method}`;
    const from = (line: Pool, timeoutMs: number, body: string, signal: AbortSignal | undefined) =>
      exchange(line, { path, body, contentType: JSON_TYPE, timeoutMs, aborts, signal }).then(asText);
    const poll = (body: string, signal: AbortSignal | undefined) =>
      from(polls, options.pollTimeoutMs + POLL_SLACK_MS, body, signal);
    const post = (body: string, signal: AbortSignal | undefined) =>
      posting.post(path, body, () => from(pool, options.requestTimeoutMs, body, signal), signal);
    const ask = method === POLL_METHOD ? poll : post;
    return async (payload = {}) => {
      const answered = await ask(JSON.stringify(payload), current).catch(asTransport);
      if (answered.found !== undefined) return { message_id: Number(answered.found) };
      const answer = readAnswer(answered);
      if (answer.ok) return answer.result;
      throw new GrammyError(`Call to '${method}' failed!`, answer, method, payload);
    };
  };

  /** Uploads: grammY makes the form, this sends it. */
  const fetch = async (path: string, request: ClientRequest = {}): Promise<ClientResponse> => {
    const { status, body } = await exchange(pool, {
      path: prefix + path,
      body: request.body,
      contentType: request.headers?.["content-type"],
      timeoutMs: options.uploadTimeoutMs,
      aborts,
      signal: current,
    });
    const answer = readAnswer({ status, body: body.toString("utf8") });
    return { json: () => answer };
  };

  const api = new Api(options.token, {
    apiRoot: options.apiUrl,
    // Timeouts are ours, by method; grammY's must only never come first.
    timeoutSeconds: Math.ceil((options.pollTimeoutMs + options.uploadTimeoutMs) / 1000) + 60,
    buildUrl: (_root, token, method) => `/bot${token}/${method}`,
    fetch,
  });
  const raw = withoutClient(api.raw, caller);

  return {
    call(request, signal) {
      current = signal;
      try {
        return request(raw);
      } finally {
        current = undefined;
      }
    },
    async download(filePath, maxBytes, signal) {
      const path = `${prefix}/file/bot${options.token}/${filePath}`;
      const { status, body } = await exchange(pool, {
        path,
        timeoutMs: options.uploadTimeoutMs,
        aborts,
        signal,
        maxBytes,
      });
      if (status !== 200) throw new TransportError(`the file was answered with HTTP ${status}`, true, status);
      return body;
    },
    async close() {
      posting.close();
      await Promise.all([pool.destroy(), polls.destroy()]);
    },
  };
}

type Caller = (payload?: Record<string, unknown>) => Promise<unknown>;

/** grammY's methods by name, each with a caller of ours, unless it may carry a file. */
function withoutClient(raw: BotApi, caller: (method: string) => Caller) {
  const methods = new Map<string, Caller>();
  return new Proxy(raw, {
    get(client, method) {
      if (typeof method !== "string" || UPLOADS.has(method)) return Reflect.get(client, method);
      let call = methods.get(method);
      if (!call) {
        call = caller(method);
        methods.set(method, call);
      }
      return call;
    },
  });
}

interface Exchange {
  path: string;
  body?: string | Readable | undefined;
  contentType?: string | undefined;
  timeoutMs: number;
  aborts: Aborts;
  signal?: AbortSignal | undefined;
  maxBytes?: number;
}

/** One request and its whole answer, at undici's lowest level: `onConnect` comes just before the first byte is written. */
function exchange(pool: Pool, request: Exchange): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const { aborts, signal, maxBytes = Number.POSITIVE_INFINITY } = request;
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    let status = 0;
    let isWritten = false;
    let cancel: ((error: Error) => void) | undefined;
    const fail = (error: Error) => {
      off?.();
      reject(error instanceof HookgateError ? error : new TransportError(describeError(error), isWritten));
    };
    const onAbort = () => {
      const error = new Error("the request was given up");
      cancel?.(error);
      fail(error);
    };
    let off: (() => void) | undefined;
    if (signal?.aborted) return onAbort();
    if (signal) off = aborts.on(signal, onAbort);
    pool.dispatch(
      {
        path: request.path,
        method: request.body === undefined ? "GET" : "POST",
        headers: request.contentType === undefined ? undefined : { "content-type": request.contentType },
        body: request.body,
        headersTimeout: request.timeoutMs,
        bodyTimeout: request.timeoutMs,
      },
      {
        onConnect(abort) {
          cancel = abort;
          if (signal?.aborted) abort(new Error("the request was given up"));
          else isWritten = true;
        },
        onHeaders(statusCode) {
          status = statusCode;
          return true;
        },
        onData(chunk) {
          sizeBytes += chunk.length;
          if (sizeBytes > maxBytes) cancel?.(tooLarge(maxBytes));
          else chunks.push(chunk);
          return true;
        },
        onComplete() {
          off?.();
          resolve({ status, body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
        },
        onError: fail,
      },
    );
  });
}

function tooLarge(maxBytes: number): HookgateError {
  return new HookgateError({ code: "FILE_UNAVAILABLE", message: `the file is larger than ${maxBytes} bytes` });
}

/**
 * Of a message that was sent or edited its id alone, which is all that is read of it: Telegram repeats the whole message, and to parse
 * that costs more than to ask for it.
 */
const POSTED = /^\{"ok":true,"result":\{"message_id":(\d{1,15})[,}]/;

function asText({ status, body }: { status: number; body: Buffer }): PostAnswer {
  return { status, header: () => null, ...contentOf(status, body.toString("utf8"), POSTED) };
}

function asTransport(error: unknown): never {
  throw error instanceof PostError ? new TransportError(error.message, error.isWritten) : error;
}

function readAnswer({ status, body }: Pick<PostAnswer, "status" | "body">): Answer {
  const answer = parseAnswer(status, body);
  if (answer === undefined)
    throw new TransportError(`the answer was HTTP ${status}, but not one of the Bot API`, true, status);
  return answer;
}

function parseAnswer(status: number, body: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== "object" || value === null || !("ok" in value)) return undefined;
    // The shape of its result is the method's, as grammY types it.
    if (value.ok === true)
      return "result" in value && value.result != null && status < 300 ? (value as Answer) : undefined;
    const { error_code: code = status, description = "refused without a reason", parameters } = Object(value);
    // A success that is none says nothing about what was done.
    return Number.isInteger(code) && code >= 400
      ? { ok: false, error_code: code, description: String(description), parameters }
      : undefined;
  } catch {
    return undefined; // said by the caller, with the status
  }
}

type Answer = Awaited<ReturnType<Transformer>>;
