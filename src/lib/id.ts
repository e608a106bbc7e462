/** Ids: short, sortable by time, unique over processes. */
import { randomBytes, randomFillSync } from "node:crypto";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
/** Every two characters there are: an id is made for every dispatch, and a lookup is cheaper than putting two together. */
const PAIRS = [...ALPHABET].flatMap((first) => [...ALPHABET].map((second) => first + second));

const pool = new Uint16Array(2048);
let poolAt = pool.length;
function randomPair(): string {
  if (poolAt >= pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  return PAIRS[(pool[poolAt++] as number) & 1023] as string;
}

let stampedMs = -1;
let stamp = "";
/** 9 characters of time, base 32. Ids are often made in the same millisecond. */
function stampOf(nowMs: number): string {
  if (nowMs !== stampedMs) {
    stampedMs = nowMs;
    stamp = "";
    for (let rest = nowMs, i = 0; i < 9; i++, rest = Math.floor(rest / 32)) stamp = ALPHABET[rest % 32] + stamp;
  }
  return stamp;
}

/**
 * A new id: `prefix_` + 9 characters of time (ms, base 32) + 10 random characters (50 bits).
 * Ids made later sort later (to the millisecond).
 */
export function newId(prefix: string, nowMs: number = Date.now()): string {
  // biome-ignore lint/style/useTemplate: a template makes a text of each part first, by a call.
  return prefix + "_" + stampOf(nowMs) + randomPair() + randomPair() + randomPair() + randomPair() + randomPair();
}

/** A secret token of `bytes` random bytes, URL-safe. */
export function newToken(bytes = 16): string {
  return randomBytes(bytes).toString("base64url");
}
