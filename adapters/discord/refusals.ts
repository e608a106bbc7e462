/**
 * Refused requests of the last ten minutes, in a window that starts with the first: Discord bans an address after 10,000.
 * https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
 */
import type { Clock } from "../../src/lib/clock.js";
import { MAX_LIMIT_MS } from "./message-buckets.js";

const WINDOW_MS = 10 * 60_000;

const TOO_MANY = "too many refused requests in ten minutes; pausing before Discord bans this address";
const BANNED = "Discord's network (Cloudflare) blocks this address for a while (HTTP 429 without a limit of Discord's)";
/** When a ban does not say how long it lasts. */
const BAN_MS = 60_000;

/** Thrown without a request: too many were refused lately, or this address is banned. */
export class InvalidRequestPause extends Error {
  readonly afterMs: number;
  constructor(afterMs: number, why: string) {
    super(why);
    this.name = "InvalidRequestPause";
    this.afterMs = afterMs;
  }
}

export class Refusals {
  readonly #limit: number;
  readonly #clock: Clock;
  /** On the monotonic clock, as is the end of a ban. */
  #since = Number.NEGATIVE_INFINITY;
  #count = 0;
  #bannedUntil = 0;

  constructor(limit: number, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  check(): void {
    if (this.#bannedUntil > 0) {
      const leftMs = this.#bannedUntil - this.#clock.monotonic();
      if (leftMs > 0) throw new InvalidRequestPause(leftMs, BANNED);
      this.#bannedUntil = 0;
    }
    if (this.#count < this.#limit) return;
    const leftMs = this.#since + WINDOW_MS - this.#clock.monotonic();
    if (leftMs > 0) throw new InvalidRequestPause(leftMs, TOO_MANY);
  }

  /** Takes note of an answer. 429s of a shared resource are not held against us. */
  count(status: number, header: (name: string) => string | null): void {
    const scope = header("x-ratelimit-scope");
    // Discord's own 429s all name their scope: https://discord.com/developers/docs/topics/rate-limits#header-format
    if (status === 429 && scope === null && header("x-ratelimit-global") === null) this.#ban(header("retry-after"));
    if (status !== 401 && status !== 403 && (status !== 429 || scope === "shared")) return;
    const now = this.#clock.monotonic();
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count++;
  }

  #ban(retryAfter: string | null): void {
    const seconds = Number(retryAfter);
    const askedMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : BAN_MS;
    this.#bannedUntil = this.#clock.monotonic() + Math.min(askedMs, MAX_LIMIT_MS);
  }
}
