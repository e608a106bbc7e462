/**
 * How many messages each channel takes before its limit is reset, as Discord's headers say: a known limit is not run into.
 * https://discord.com/developers/docs/topics/rate-limits#header-format
 */
import type { Clock } from "../../src/lib/clock.js";

const MARGIN_MS = 50;
const MAX_BUCKETS = 10_000;
/** A limit that is said to last longer is met again after it. */
export const MAX_LIMIT_MS = 3_600_000;

/** Thrown without a request, or for a 429. */
export class Limited extends Error {
  readonly afterMs: number;
  readonly isGlobal: boolean;
  constructor(afterMs: number, isGlobal: boolean) {
    super("rate limited by Discord");
    this.name = "Limited";
    this.afterMs = afterMs;
    this.isGlobal = isGlobal;
  }
}

interface Bucket {
  remaining: number;
  /** On the monotonic clock. */
  resetAt: number;
}

export class MessageBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a request; throws when the channel takes none now. */
  take(channelId: string): void {
    const bucket = this.#buckets.get(channelId);
    if (!bucket) return;
    const leftMs = bucket.resetAt - this.#clock.monotonic();
    if (leftMs <= 0) {
      this.#buckets.delete(channelId);
      return;
    }
    if (bucket.remaining <= 0) throw new Limited(leftMs, false);
    bucket.remaining--;
  }

  /** What the headers of an answer say. */
  note(channelId: string, header: (name: string) => string | null): void {
    const remaining = header("x-ratelimit-remaining");
    const resetAfter = header("x-ratelimit-reset-after");
    if (remaining === null || resetAfter === null) return;
    this.#set(channelId, Number(remaining), Number(resetAfter) * 1000 + MARGIN_MS);
  }

  /** What is known of limits is forgotten: the next request asks Discord. */
  clear(): void {
    this.#buckets.clear();
  }

  /** It takes none for so long. */
  shut(channelId: string, forMs: number): void {
    this.#set(channelId, 0, forMs);
  }

  #set(channelId: string, remaining: number, forMs: number): void {
    if (!Number.isFinite(remaining) || !Number.isFinite(forMs)) return;
    this.#buckets.set(channelId, { remaining, resetAt: this.#clock.monotonic() + Math.min(forMs, MAX_LIMIT_MS) });
    if (this.#buckets.size > MAX_BUCKETS)
      for (const oldest of this.#buckets.keys()) return void this.#buckets.delete(oldest);
  }
}
