/**
 * One request and the redirects that it may follow. They are here and not below, because every hop to the same origin is signed again,
 * and because a redirect that would turn a POST into a GET (301, 302, 303) would deliver nothing: it is an answer like any other.
 */
import type { GuardedResponse } from "../../../lib/outgoing/request.js";
import type { RunContext } from "../../run-context.js";
import type { HttpOptions } from "./options.js";
import { signatureHeaders } from "./signature-headers.js";

export interface Sendable {
  url: string;
  body: string | undefined;
  headers: Readonly<Record<string, string>>;
}

/** The headers that another origin gets. Logins and the signature were meant for the first origin; the other one could send them there. */
const FOR_ANYBODY: ReadonlySet<string> = new Set(["accept", "content-type", "user-agent"]);

export async function requestFollowing(
  { url: first, body, headers }: Sendable,
  options: HttpOptions,
  context: RunContext,
): Promise<GuardedResponse> {
  const { clock, reach, signal } = context;
  const endsAt = clock.monotonic() + options.timeout;
  let url = first;
  for (let followed = 0; ; followed++) {
    const answer = await reach.request(url, {
      method: options.method,
      headers:
        originOf(url) === originOf(first)
          ? { ...headers, ...signatureHeaders(options, body ?? "", context) }
          : forAnybody(headers),
      body,
      signal,
      timeoutMs: Math.max(1, Math.round(endsAt - clock.monotonic())),
      maxBytes: options.max_bytes,
      redirects: 0,
    });
    const next = followed < options.redirects ? nextOf(answer, url, options.method) : undefined;
    if (next === undefined) return answer;
    url = next;
  }
}

function nextOf({ status, headers }: GuardedResponse, url: string, method: HttpOptions["method"]): string | undefined {
  const isRepeated = status === 307 || status === 308 || (method === "GET" && [301, 302, 303].includes(status));
  const { location } = headers;
  return isRepeated && location !== undefined && URL.canParse(location, url) ? new URL(location, url).href : undefined;
}

const originOf = (url: string) => (URL.canParse(url) ? new URL(url).origin : url);

function forAnybody(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => FOR_ANYBODY.has(name)));
}
