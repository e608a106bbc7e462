/** A login in a browser, as a cookie that the server signs and never stores: person, end, signature. */
import { createHmac } from "node:crypto";
import { sameSecret } from "../lib/secret.js";

export interface SessionFacts {
  personId: string;
  /** Milliseconds since the epoch. */
  endsAt: number;
}

/** `key` belongs to the person (see `People.keyOf`). */
export function signSession({ personId, endsAt }: SessionFacts, key: string): string {
  const facts = `${personId}.${endsAt}`;
  return `${facts}.${signature(facts, key)}`;
}

/** The session, when it is genuine and has not ended. `keyOf`: the person's key, undefined for nobody. */
export function readSession(
  cookie: string,
  keyOf: (personId: string) => string | undefined,
  now: number,
): SessionFacts | undefined {
  const [personId, ends, given, ...rest] = cookie.split(".");
  if (!personId || !ends || !given || rest.length > 0 || !/^\d+$/.test(ends)) return undefined;
  const key = keyOf(personId);
  if (key === undefined || !sameSecret(given, signature(`${personId}.${ends}`, key))) return undefined;
  const endsAt = Number(ends);
  return endsAt > now ? { personId, endsAt } : undefined;
}

function signature(facts: string, key: string): string {
  return createHmac("sha256", key).update(facts).digest("base64url");
}
