/**
 * Reads the limit from an answer with the status 429. Discord names its length as JSON and in a header; a server in front of
 * Discord (Cloudflare) may name it in the header only, as a date, or not at all.
 * https://discord.com/developers/docs/topics/rate-limits#exceeding-a-rate-limit
 */

import { retryAfterMs } from "../../../src/lib/retry-after.js";
import { systemClock } from "../../../src/lib/time/clock.js";

/** The length of a limit when the answer does not state it. */
const UNKNOWN_MS = 5_000;

type Header = (name: string) => string | null;

/** Always a time that can be waited for, above 0. */
export function limitMs(body: string, header: Header): number {
  const retryAfterS = Number(fieldsOf(body).retry_after);
  const asked = retryAfterMs(header("retry-after") ?? undefined, systemClock.now());
  const reset = Number(header("x-ratelimit-reset-after"));
  return [retryAfterS * 1000, asked, reset * 1000].find(isTime) ?? UNKNOWN_MS;
}

/** The limit concerns the whole bot account. */
export function isGlobalLimit(body: string, header: Header): boolean {
  return header("x-ratelimit-global") !== null || fieldsOf(body).global === true;
}

/**
 * Some limits name no scope (20028 of a channel's writes, 30046 of edits), and some no usable time, but Discord writes them as JSON.
 * Cloudflare answers a page, or JSON without these fields, or JSON that names Cloudflare.
 */
export function isDiscordsLimit(body: string): boolean {
  const { retry_after, global, message, cloudflare_error } = fieldsOf(body);
  if (cloudflare_error === true) return false;
  return retry_after !== undefined || typeof global === "boolean" || typeof message === "string";
}

const isTime = (ms: number | undefined): ms is number => ms !== undefined && Number.isFinite(ms) && ms > 0;

/** The fields of an answer, which a proxy between Discord and us may have written. */
export function fieldsOf(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
