/**
 * Refused requests of the last ten minutes, in a window that starts with the first: Discord bans an address after 10,000.
 * https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
 */

import type { GatewayPort } from "../../../src/domain/chat/adapter.js";
import { retryAfterMs } from "../../../src/lib/retry-after.js";
import { MAX_PAUSE_MS } from "../../../src/lib/time/backoff.js";
import type { Clock } from "../../../src/lib/time/clock.js";
import { isDiscordsLimit } from "./limit.js";

const WINDOW_MS = 10 * 60_000;

const TOO_MANY = "too many refused requests in ten minutes; pausing before Discord bans this address";
export const BANNED = "Discord's network (Cloudflare) blocks this address for a while (HTTP 429 that is not Discord's)";
/** The length of a ban that does not state it. */
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

/** The pauses themselves are the gateway's: stored, shown, and lifted by an operator. */
type Pauses = Pick<GatewayPort, "pause" | "paused">;

export class Refusals {
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #pauses: Pauses;
  /** On the monotonic clock. */
  #since = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(limit: number, clock: Clock, pauses: Pauses) {
    this.#limit = limit;
    this.#clock = clock;
    this.#pauses = pauses;
  }

  check(): void {
    const pause = this.#pauses.paused();
    if (pause) throw new InvalidRequestPause(pause.leftMs, pause.reason);
  }

  /** Takes note of an answer. 429s of a shared resource are not held against us. `body`: read of a 429 only. */
  count(status: number, header: (name: string) => string | null, body: string): void {
    const scope = header("x-ratelimit-scope");
    if (status === 429 && scope === null && header("x-ratelimit-global") === null && !isDiscordsLimit(body))
      this.#ban(header("retry-after") ?? undefined);
    if (status !== 401 && status !== 403 && (status !== 429 || scope === "shared")) return;
    const now = this.#clock.monotonic();
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count++;
    if (this.#count < this.#limit) return;
    this.#pauses.pause(this.#since + WINDOW_MS - now, TOO_MANY);
    this.#count = 0;
  }

  #ban(retryAfter: string | undefined): void {
    const askedMs = retryAfterMs(retryAfter, this.#clock.now()) || BAN_MS;
    this.#pauses.pause(Math.min(askedMs, MAX_PAUSE_MS), BANNED);
  }
}
