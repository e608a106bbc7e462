/**
 * Makes one HTTP request to an address that a person or a hook named: guarded when it connects, on every redirect, in size and in
 * time. It never retries, and an answer of any status is an answer.
 */
import { type Agent, type Dispatcher, errors, request } from "undici";
import { errorMessage, HookgateError } from "../errors.js";
import { MAX_TIMEOUT_MS } from "../time/clock.js";
import { guardedAgent, type Resolve } from "./connect.js";
import { type Destinations, PUBLIC_ONLY } from "./destinations.js";

export interface GuardedRequest {
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Aborting rejects with the signal's reason. */
  signal?: AbortSignal;
  /** For everything, redirects and body included. */
  timeoutMs?: number;
  /** The longest that nothing comes, before the answer and in its body. Absent: `timeoutMs`. */
  silenceMs?: number;
  /** The most bytes of the body that are read. */
  maxBytes?: number;
  /** How many are followed; at 0 a redirect is the answer, and so is a 301 or 302 after anything but GET and HEAD. */
  redirects?: number;
  /** Destinations that may be reached besides public addresses. */
  allow?: Destinations;
  /** Replaces the system's resolver. */
  resolve?: Resolve;
}

export interface GuardedResponse {
  status: number;
  /** By lower-case name; several of one name are joined with a comma. */
  headers: Record<string, string>;
  body: Buffer;
  /** The body was longer than `maxBytes`: only its start is here. */
  truncated: boolean;
  /** Where the answer came from, after redirects. */
  url: string;
}

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 1_000_000;
const REDIRECTS = 3;
/** The headers that another origin may get after a redirect: credentials and signatures were meant for the first. */
const FOR_ANYBODY: ReadonlySet<string> = new Set(["accept", "accept-language", "content-type", "user-agent"]);

/** Rejects with OUTGOING_REFUSED or OUTGOING_REDIRECTS (final), OUTGOING_TIMED_OUT or OUTGOING_FAILED (retryable). */
export async function guardedRequest(url: string, options: GuardedRequest = {}): Promise<GuardedResponse> {
  const { signal, allow = PUBLIC_ONLY, resolve } = options;
  const timeoutMs = Math.min(options.timeoutMs ?? TIMEOUT_MS, MAX_TIMEOUT_MS);
  const silenceMs = options.silenceMs ?? timeoutMs;
  signal?.throwIfAborted();
  const ending = new AbortController();
  const onAbort = () => ending.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  const timer = setTimeout(() => ending.abort(timedOut(url, timeoutMs)), timeoutMs);
  const agent = guardedAgent({ allow, connectTimeoutMs: timeoutMs, resolve });
  try {
    return await follow(agent, url, options, ending.signal);
  } catch (thrown) {
    signal?.throwIfAborted();
    if (ending.signal.aborted) throw ending.signal.reason;
    if (thrown instanceof errors.HeadersTimeoutError || thrown instanceof errors.BodyTimeoutError)
      throw timedOut(url, silenceMs);
    throw thrown instanceof HookgateError ? thrown : failed(url, thrown);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    await agent.destroy();
  }
}

async function follow(agent: Agent, start: string, options: GuardedRequest, signal: AbortSignal) {
  const { redirects = REDIRECTS, maxBytes = MAX_BYTES, silenceMs = 0 } = options;
  let hop = firstHop(start, options);
  for (let followed = 0; ; followed++) {
    const { url, ...rest } = hop;
    const timeouts = { headersTimeout: silenceMs, bodyTimeout: silenceMs };
    const answer = await request(url, { ...rest, signal, dispatcher: agent, ...timeouts });
    const next = redirects > 0 ? nextHop(hop, answer) : undefined;
    if (!next) return await whole(answer, url, maxBytes);
    if (followed >= redirects) throw tooManyRedirects(start, redirects);
    // The body of a redirect is not read: its connection goes with the agent.
    answer.body.on("error", () => {}).destroy();
    hop = next;
  }
}

interface Hop {
  url: URL;
  method: NonNullable<GuardedRequest["method"]>;
  headers: Record<string, string>;
  body: string | Buffer | null;
}

function firstHop(url: string, { method = "GET", headers = {}, body }: GuardedRequest): Hop {
  return { url: webAddress(url), method, headers, body: body ?? null };
}

/**
 * 307 and 308 repeat the request; 303 names the place to read after it was done (https://www.rfc-editor.org/rfc/rfc9110#name-303-see-other).
 * 301 and 302 would turn it into a GET without a body, so they are the answer to any other method: nothing was written.
 */
function nextHop(hop: Hop, { statusCode, headers }: Dispatcher.ResponseData): Hop | undefined {
  const location = headers.location;
  const isRead = hop.method === "GET" || hop.method === "HEAD";
  const followed = isRead ? [301, 302, 303, 307, 308] : [303, 307, 308];
  if (!followed.includes(statusCode) || typeof location !== "string") return undefined;
  const url = webAddress(location, hop.url);
  const { method, body } = statusCode === 303 && !isRead ? { ...hop, method: "GET" as const, body: null } : hop;
  return { url, method, body, headers: url.origin === hop.url.origin ? hop.headers : forAnybody(hop.headers) };
}

function forAnybody(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => FOR_ANYBODY.has(name.toLowerCase())));
}

async function whole(answer: Dispatcher.ResponseData, url: URL, maxBytes: number): Promise<GuardedResponse> {
  const chunks: Buffer[] = [];
  let left = maxBytes;
  let truncated = false;
  for await (const chunk of answer.body) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes.subarray(0, left));
    truncated = bytes.length > left;
    if (truncated) break;
    left -= bytes.length;
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.headers))
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  return { status: answer.statusCode, headers, body: Buffer.concat(chunks), truncated, url: url.href };
}

function webAddress(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base) : undefined;
  if (url && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new HookgateError({
    code: "OUTGOING_REFUSED",
    message: `expected an address that starts with https: or http:, got "${text.slice(0, 40)}"`,
  });
}

function tooManyRedirects(url: string, redirects: number): HookgateError {
  return new HookgateError({
    code: "OUTGOING_REDIRECTS",
    message: `${hostOf(url)} redirects more than ${redirects} times`,
  });
}

function timedOut(url: string, timeoutMs: number): HookgateError {
  return new HookgateError({
    code: "OUTGOING_TIMED_OUT",
    message: `${hostOf(url)} did not answer within ${timeoutMs} ms`,
    retryable: true,
  });
}

function failed(url: string, thrown: unknown): HookgateError {
  const isMany = thrown instanceof AggregateError;
  const why = isMany ? thrown.errors.map(errorMessage).join("; ") : errorMessage(thrown);
  return new HookgateError({
    code: "OUTGOING_FAILED",
    message: `the request to ${hostOf(url)} failed: ${why}`,
    retryable: true,
    cause: thrown,
  });
}

/** Without path and query, which may hold secrets. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "the address";
}
