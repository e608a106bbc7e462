/** Ids: short, sortable by time, unique over processes. */
import { randomBytes, randomFillSync } from "node:crypto";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
let pool = Buffer.alloc(0);
let poolAt = 0;

function randomByte(): number {
  if (poolAt >= pool.length) {
    pool = randomFillSync(Buffer.allocUnsafe(4096));
    poolAt = 0;
  }
  return pool[poolAt++] as number;
}

/**
 * A new id: `prefix_` + 9 characters of time (ms, base 32) + 10 random characters (50 bits).
 * Ids made later sort later (to the millisecond).
 */
export function newId(prefix: string, nowMs: number = Date.now()): string {
  let time = "";
  for (let rest = nowMs, i = 0; i < 9; i++, rest = Math.floor(rest / 32)) time = ALPHABET[rest % 32] + time;
  let random = "";
  for (let i = 0; i < 10; i++) random += ALPHABET[randomByte() & 31];
  return `${prefix}_${time}${random}`;
}

/** A secret token of `bytes` random bytes, URL-safe. */
export function newToken(bytes = 16): string {
  return randomBytes(bytes).toString("base64url");
}
