/** Body and headers of a request as a definition wrote them. */
import { validateHeaderValue } from "node:http";
import { HookgateError } from "../../lib/errors.js";
import type { GuardedResponse } from "../../lib/outgoing/request.js";
import type { Reach } from "../run-context.js";
import { needSecret } from "./authorize.js";
import type { Target } from "./fields.js";

export interface Composed {
  body: string | undefined;
  /** Lower-case names. */
  headers: Record<string, string>;
}

/** Throws REQUEST_INVALID for a header value that a template broke into lines. */
export function compose(given: unknown, headers: Readonly<Record<string, string>>): Composed {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]));
  for (const [name, value] of Object.entries(lower)) checkValue(name, value);
  const base = { "user-agent": "hookgate", accept: "application/json, */*;q=0.5" };
  if (given === undefined) return { body: undefined, headers: { ...base, ...lower } };
  const body = typeof given === "string" ? given : JSON.stringify(given);
  const type = typeof given !== "string" || isJson(given) ? "application/json" : "text/plain; charset=utf-8";
  return { body, headers: { ...base, "content-type": type, ...lower } };
}

function checkValue(name: string, value: string): void {
  try {
    validateHeaderValue(name, value);
  } catch {
    throw new HookgateError({
      code: "REQUEST_INVALID",
      message: `the header ${name} has characters that no header may have`,
    });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // then it is text
  }
}

/** Where a request goes, for people: without query, fragment and credentials, which may hold secrets. */
export function placeOfUrl(url: string): string {
  if (!URL.canParse(url)) return "an address that cannot be read";
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** A redirect that was not followed, for people: its target, and why it was not followed. Undefined for any other answer. */
export function redirectProblem(
  { status, headers, url: from }: GuardedResponse,
  { url, url_env, method, redirects }: Target & { method: string; redirects: number },
): string | undefined {
  const { location } = headers;
  if (status < 300 || status >= 400 || location === undefined) return undefined;
  // The new address of a secret one may hold the secret, too.
  const isShown = url !== undefined && URL.canParse(location, from);
  const place = isShown ? placeOfUrl(new URL(location, from).href) : "another place";
  let why = "it is none that can be followed";
  if (redirects === 0) why = "redirects are not followed (redirects: 0)";
  else if (status <= 302 && method !== "GET" && method !== "HEAD")
    why = `a redirect of this kind repeats no ${method}: write the new address in ${url_env ?? "`url`"}`;
  return `${new URL(from).host} answered ${status}, a redirect to ${place}; ${why}`;
}

/** The address, and the part of it that people may read. Throws SECRET_MISSING. */
export function targetOf(
  { url, url_env }: Target,
  reach: Pick<Reach, "secret">,
): { readonly url: string; readonly shown: string } {
  if (url !== undefined) return { url, shown: placeOfUrl(url) };
  const secret = needSecret(reach, url_env ?? "");
  return {
    url: secret,
    shown: URL.canParse(secret) ? `${new URL(secret).origin}/…` : "an address that cannot be read",
  };
}
