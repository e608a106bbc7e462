/**
 * All requests to Discord's REST API. A limit is reported at once instead of being waited for, and no request is repeated here: the
 * gateway alone decides the next step.
 */
import { Pool } from "undici";
import type { GatewayPort } from "../../src/domain/chat/adapter.js";
import { CONNECTIONS } from "../../src/domain/chat/platform-defaults.js";
import { exchange, headerOf } from "../../src/fast/exchange.js";
import type { Logger } from "../../src/lib/logger.js";
import { MAX_PAUSE_MS } from "../../src/lib/time/backoff.js";
import type { Clock } from "../../src/lib/time/clock.js";
import type { DiscordOptions } from "./options.js";
import { type Limited, Refusal, ServerFault, UnreadableAnswer } from "./rest/errors.js";
import { fieldsOf, limitMs } from "./rest/limit.js";
import { Limits, type Route, routeOf } from "./rest/limits.js";
import { Refusals } from "./rest/refusals.js";

const API = "https://discord.com/api";
const VERSION = "v10";
/** https://discord.com/developers/docs/reference#user-agent */
const USER_AGENT = "DiscordBot (hookgate, 1)";

export interface UploadedFile {
  name: string;
  data: Buffer;
  contentType: string;
}

export interface Asked {
  /** Becomes JSON. */
  body?: unknown;
  files?: readonly UploadedFile[];
  query?: URLSearchParams;
  /** False: the route's own token is enough. */
  auth?: boolean;
  signal?: AbortSignal;
}

export class Caller {
  readonly #options: DiscordOptions;
  readonly #logger: Logger;
  readonly #pool: Pool;
  /** In front of every route. */
  readonly #prefix: string;
  readonly #limits: Limits;
  readonly #refusals: Refusals;

  constructor(options: DiscordOptions, pauses: Pick<GatewayPort, "pause" | "paused">, clock: Clock, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    const { origin, pathname } = new URL(options.apiUrl ?? API);
    this.#prefix = `${pathname.replace(/\/+$/, "")}/${VERSION}`;
    this.#pool = new Pool(origin, {
      connections: CONNECTIONS,
      keepAliveTimeout: 30_000,
      keepAliveMaxTimeout: 60_000,
      connect: { timeout: Math.min(10_000, options.requestTimeoutMs) },
    });
    this.#limits = new Limits(options.requestsPerSecond, clock);
    this.#refusals = new Refusals(options.maxInvalidRequests, clock, pauses);
  }

  readonly get = (route: string, asked?: Asked) => this.#request("GET", route, asked);
  readonly post = (route: string, asked?: Asked) => this.#request("POST", route, asked);
  readonly put = (route: string, asked?: Asked) => this.#request("PUT", route, asked);
  readonly patch = (route: string, asked?: Asked) => this.#request("PATCH", route, asked);
  readonly delete = (route: string, asked?: Asked) => this.#request("DELETE", route, asked);

  /** Limits of earlier answers no longer hold requests back. */
  forgetLimits(): void {
    this.#limits.forget();
  }

  /** Ends the requests under way. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  /**
   * The answer's JSON; undefined when it has none. Rejects with `Limited`, `InvalidRequestPause`, `Refusal`, `ServerFault`,
   * `UnreadableAnswer` or `ExchangeError`.
   */
  async #request(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    asked: Asked = {},
  ): Promise<unknown> {
    const { body, files = [], query, auth = true, signal } = asked;
    const route = routeOf(method, path);
    this.#refusals.check();
    this.#limits.take(route);
    // A line that is slow to take a file is no server that is slow to answer.
    const timeoutMs = files.length > 0 ? this.#options.uploadTimeoutMs : this.#options.requestTimeoutMs;
    const headers: Record<string, string> = { "user-agent": USER_AGENT };
    if (auth) headers.authorization = `Bot ${this.#options.token}`;
    if (body !== undefined && files.length === 0) headers["content-type"] = "application/json";
    const {
      status,
      headers: headersIn,
      body: bytes,
    } = await exchange(
      this.#pool,
      {
        method,
        path: `${this.#prefix}${path}${query ? `?${query}` : ""}`,
        headers,
        body: files.length > 0 ? formOf(body, files) : JSON.stringify(body),
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      },
      { signal },
    );
    const text = bytes.toString("utf8");
    const header = (name: string) => headerOf(headersIn, name);
    if (status !== 429) this.#limits.note(route, header);
    if (status < 300) this.#limits.changed(route);
    else this.#refusals.count(status, header, text);
    if (status === 429) throw this.#limited(route, header, text);
    return readAnswer(status, text);
  }

  #limited(route: Route, header: (name: string) => string | null, text: string): Limited {
    this.#refusals.check(); // a ban is reported as a ban, and not as a limit of this route
    const askedMs = limitMs(text, header);
    if (askedMs > MAX_PAUSE_MS)
      this.#logger.warn({ askedMs }, "Discord asks for a pause beyond reason; it is tried again after an hour");
    return this.#limits.limited(route, header, text);
  }
}

/** The JSON of an answer that is no limit. Throws `Refusal`, `ServerFault` or `UnreadableAnswer`. */
export function readAnswer(status: number, text: string): unknown {
  if (status < 300) return text === "" ? undefined : parsed(text);
  throw status >= 500 ? new ServerFault(status) : new Refusal(status, fieldsOf(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableAnswer(); // a login page, or cut short; the message of JSON.parse does not help
  }
}

/** https://discord.com/developers/docs/reference#uploading-files */
function formOf(body: unknown, files: readonly UploadedFile[]): FormData {
  const form = new FormData();
  for (const [i, { name, data, contentType }] of files.entries())
    form.append(`files[${i}]`, new Blob([new Uint8Array(data)], { type: contentType }), name);
  form.append("payload_json", JSON.stringify(body));
  return form;
}
