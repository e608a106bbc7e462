/** How @discordjs/rest makes its requests: by `lib/exchange.ts`, except uploads, which keep the library's own way. */
import { STATUS_CODES } from "node:http";
import { DefaultRestOptions, type ResponseLike } from "@discordjs/rest";
import { type Dispatcher, Headers, type RequestInit } from "undici";
import { type Answer, exchange, headerOf } from "../../src/lib/exchange.js";
import { isGlobalLimit } from "./limit.js";

export async function makeRequest(
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
  return responseOf(await exchange(agent, { ...request, body: body ?? null }, { signal: signal ?? undefined }));
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
