/**
 * Refused requests of the last ten minutes, in a window that starts with the first: Discord bans an address after 10,000.
 * https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
 */
import type { Clock } from "../../src/lib/clock.js";

const WINDOW_MS = 10 * 60_000;

/** Thrown without a request: too many were refused lately. */
export class InvalidRequestPause extends Error {
  readonly afterMs: number;
  constructor(afterMs: number) {
    super("too many refused requests in ten minutes; pausing before Discord bans this address");
    this.name = "InvalidRequestPause";
    this.afterMs = afterMs;
  }
}

export class Refusals {
  readonly #limit: number;
  readonly #clock: Clock;
  #since = 0;
  #count = 0;

  constructor(limit: number, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  check(): void {
    if (this.#count < this.#limit) return;
    const leftMs = this.#since + WINDOW_MS - this.#clock.now();
    if (leftMs > 0) throw new InvalidRequestPause(leftMs);
  }

  /** 429s of a shared resource are not held against us. */
  count(status: number, scope: string | null): void {
    if (status !== 401 && status !== 403 && (status !== 429 || scope === "shared")) return;
    const now = this.#clock.now();
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count++;
  }
}
