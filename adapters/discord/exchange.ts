/**
 * A request and its whole answer at undici's lowest level: no stream, no fetch objects, half the cost. For @discordjs/rest, whose
 * uploads keep the library's own way, and for `posts.ts`.
 */
import { STATUS_CODES } from "node:http";
import { DefaultRestOptions, type ResponseLike } from "@discordjs/rest";
import { type Dispatcher, Headers, type RequestInit } from "undici";
import { codeOf, describeError, headerOf, PostError } from "../../src/lib/posting/answer.js";
import { isGlobalLimit } from "./limit.js";

export interface Answer {
  status: number;
  /** Names and values in turn, as they came. */
  headers: readonly Buffer[];
  body: Buffer;
}

/** The answer; rejects with a `PostError` when none came. The agent's own limits bound how long that takes. */
export function ask(agent: Dispatcher, request: Dispatcher.DispatchOptions, signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = new Asked(resolve, reject, signal);
    if (asked.isOpen) agent.dispatch(request, asked);
  });
}

class Asked implements Dispatcher.DispatchHandlers {
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort: (() => void) | undefined;
  #abort: ((error: Error) => void) | undefined;
  #status = 0;
  #headers: readonly Buffer[] = [];
  #body: Buffer | undefined;
  #more: Buffer[] | undefined;
  #isWritten = false;
  isOpen = true;

  constructor(resolve: (answer: Answer) => void, reject: (error: Error) => void, signal: AbortSignal | undefined) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = signal;
    if (!signal) return;
    this.#onAbort = () => {
      const error = givenUp();
      this.#abort?.(error);
      this.onError(error);
    };
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort);
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    if (this.#signal?.aborted) abort(givenUp());
    else this.#isWritten = true;
  }

  onHeaders(status: number, headers: Buffer[]): boolean {
    // Informational ones (1xx) come before the answer itself.
    this.#status = status;
    this.#headers = headers;
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (!this.#body) this.#body = chunk;
    else if (this.#more) this.#more.push(chunk);
    else this.#more = [this.#body, chunk];
    return true;
  }

  onComplete(): void {
    this.#close();
    const body = this.#more ? Buffer.concat(this.#more) : (this.#body ?? Buffer.alloc(0));
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }

  onError(error: Error): void {
    this.#close();
    const isOurs = error instanceof DOMException;
    this.#reject(isOurs ? error : new PostError(describeError(error), this.#isWritten, codeOf(error)));
  }

  #close(): void {
    this.isOpen = false;
    if (this.#onAbort) this.#signal?.removeEventListener("abort", this.#onAbort);
  }
}

const givenUp = () => new DOMException("the request was given up", "AbortError");

export async function exchange(
  agent: Dispatcher,
  uploads: Dispatcher,
  url: string,
  init: RequestInit,
): Promise<ResponseLike> {
  const { body, headers, method, signal } = init;
  const pathAt = pathIn(url);
  if ((typeof body !== "string" && body != null) || !isRecord(headers) || pathAt < 0)
    return DefaultRestOptions.makeRequest(url, { ...init, dispatcher: uploads });
  const request = { origin: url.slice(0, pathAt), path: url.slice(pathAt), method: asMethod(method), headers };
  return responseOf(await ask(agent, { ...request, body: body ?? null }, signal ?? undefined));
}

/** The same 429 with its text read, and with this wait: the library takes what the headers say, whether it is a number or not. */
export function limited(response: ResponseLike, text: string, waitMs: number): ResponseLike {
  const { status, statusText, ok } = response;
  const names = [
    "x-ratelimit-scope",
    "x-ratelimit-global",
    "x-ratelimit-bucket",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "via",
    "content-type",
  ];
  const headers = new Headers();
  for (const name of ["retry-after", "x-ratelimit-reset-after"]) headers.set(name, String(waitMs / 1000));
  for (const name of names) {
    const value = response.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  if (isGlobalLimit(text, (name) => response.headers.get(name))) headers.set("x-ratelimit-global", "true");
  return {
    status,
    statusText,
    ok,
    headers,
    body: null,
    bodyUsed: false,
    json: async () => JSON.parse(text),
    text: async () => text,
    arrayBuffer: async () => new TextEncoder().encode(text).buffer,
  };
}

/** Where the path of an address begins. */
export function pathIn(url: string): number {
  return url.indexOf("/", url.indexOf("//") + 2);
}

function isRecord(headers: RequestInit["headers"]): headers is Record<string, string> {
  return typeof headers === "object" && !(Symbol.iterator in headers);
}

function asMethod(method = "GET"): Dispatcher.HttpMethod {
  switch (method) {
    case "POST":
    case "PATCH":
    case "PUT":
    case "DELETE":
      return method;
    default:
      return "GET";
  }
}

function responseOf({ status, headers, body }: Answer): ResponseLike {
  return {
    status,
    statusText: STATUS_CODES[status] ?? "",
    ok: status >= 200 && status < 300,
    headers: new AnswerHeaders(headers),
    body: null,
    bodyUsed: false,
    json: async () => JSON.parse(body.toString("utf8")),
    text: async () => body.toString("utf8"),
    arrayBuffer: async () => new Uint8Array(body).buffer,
  };
}

/** Reads as `Headers` do, which check every name and value again that undici has parsed already. */
class AnswerHeaders extends Headers {
  readonly #raw: readonly Buffer[];

  constructor(raw: readonly Buffer[]) {
    super();
    this.#raw = raw;
  }

  override readonly get = (name: string): string | null => headerOf(this.#raw, name.toLowerCase());
  override readonly has = (name: string): boolean => this.get(name) !== null;
}
