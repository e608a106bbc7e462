/**
 * Requests to the Bot API: grammY's methods over a keep-alive pool, four times cheaper than its own node-fetch. Knows of a
 * request that failed whether any of it was written, because only an unwritten one may be repeated blindly.
 */
import type { Readable } from "node:stream";
import { Api, GrammyError, type Transformer } from "grammy";
import { Pool } from "undici";
import { Aborts } from "../../src/lib/aborts.js";
import { HookgateError } from "../../src/lib/errors.js";
import { ANSWER_TOO_LARGE, type Answer, type ExchangeError, exchange } from "../../src/lib/exchange.js";

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

/** An answer came that cannot be used. What was asked may have been done. */
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

export function openTransport(options: TransportOptions): Transport {
  const { origin, pathname } = new URL(options.apiUrl);
  const prefix = pathname.replace(/\/+$/, "");
  const connect = { timeout: Math.min(10_000, options.requestTimeoutMs) };
  const pool = new Pool(origin, { connections: CONNECTIONS, connect });
  const polls = new Pool(origin, { connections: POLL_CONNECTIONS, connect });
  const aborts = new Aborts();

  const ask = (line: Pool, { path, body, contentType, timeoutMs }: PostRequest, signal: AbortSignal | undefined) => {
    const headers = contentType === undefined ? undefined : { "content-type": contentType };
    const timeouts = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
    return exchange(line, { path, method: "POST", headers, body, ...timeouts }, { aborts, signal });
  };

  /** Of the call that is being made: grammY asks for its request before its method returns. */
  let current: AbortSignal | undefined;

  /** A call without a file goes past grammY's client, whose signals, layers and payload walk cost more than the request. */
  const caller = (method: string): Caller => {
    const path = `${prefix}/bot${options.token}/${method}`;
    const isPoll = method === POLL_METHOD;
    const timeoutMs = isPoll ? options.pollTimeoutMs + POLL_SLACK_MS : options.requestTimeoutMs;
    return async (payload = {}) => {
      const request = { path, body: JSON.stringify(payload), contentType: JSON_TYPE, timeoutMs };
      const answer = readAnswer(await ask(isPoll ? polls : pool, request, current));
      if (answer.ok) return answer.result;
      throw new GrammyError(`Call to '${method}' failed!`, answer, method, payload);
    };
  };

  /** Uploads: grammY makes the form, this sends it. */
  const fetch = async (path: string, request: ClientRequest = {}): Promise<ClientResponse> => {
    const contentType = request.headers?.["content-type"];
    const asked = { path: prefix + path, body: request.body, contentType, timeoutMs: options.uploadTimeoutMs };
    const answer = readAnswer(await ask(pool, asked, current));
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
      const timeouts = { headersTimeout: options.uploadTimeoutMs, bodyTimeout: options.uploadTimeoutMs };
      const { status, body } = await exchange(
        pool,
        { path, method: "GET", ...timeouts },
        { aborts, signal, maxBytes },
      ).catch((error: ExchangeError) => {
        throw error.code === ANSWER_TOO_LARGE ? tooLarge(maxBytes) : error;
      });
      if (status !== 200) throw new UnusableAnswer(`the file was answered with HTTP ${status}`, status);
      return body;
    },
    async close() {
      await Promise.all([pool.destroy(), polls.destroy()]);
    },
  };
}

interface PostRequest {
  path: string;
  body: string | Readable | undefined;
  contentType: string | undefined;
  timeoutMs: number;
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

function tooLarge(maxBytes: number): HookgateError {
  return new HookgateError({ code: "FILE_UNAVAILABLE", message: `the file is larger than ${maxBytes} bytes` });
}

function readAnswer({ status, body }: Answer): ApiAnswer {
  const answer = parseAnswer(status, body.toString("utf8"));
  if (answer === undefined)
    throw new UnusableAnswer(`the answer was HTTP ${status}, but not one of the Bot API`, status);
  return answer;
}

function parseAnswer(status: number, body: string): ApiAnswer | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== "object" || value === null || !("ok" in value)) return undefined;
    // The shape of its result is the method's, as grammY types it.
    if (value.ok === true)
      return "result" in value && value.result != null && status < 300 ? (value as ApiAnswer) : undefined;
    const { error_code: code = status, description = "refused without a reason", parameters } = Object(value);
    // A success that is none says nothing about what was done.
    return Number.isInteger(code) && code >= 400
      ? { ok: false, error_code: code, description: String(description), parameters }
      : undefined;
  } catch {
    return undefined; // said by the caller, with the status
  }
}

type ApiAnswer = Awaited<ReturnType<Transformer>>;
