/**
 * Counts refused requests per platform. Discord bans an address that made 10,000 of them (401, 403, 429) in 10 minutes
 * (https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans): we stop well before.
 */
import type { SendResult } from "../../domain/adapter.js";

const MINUTE_MS = 60_000;
const MINUTES = 10;

export class Refusals {
  readonly #max: number;
  /** Per platform: refused requests by minute. */
  readonly #counts = new Map<string, Map<number, number>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes note of a result. A time = too many were refused: send nothing to this platform until then. */
  note(platform: string, result: SendResult, now: number): number | undefined {
    if (!isRefusal(result)) return undefined;
    const minutes = this.#counts.get(platform) ?? new Map<number, number>();
    this.#counts.set(platform, minutes);
    const minute = Math.floor(now / MINUTE_MS);
    minutes.set(minute, (minutes.get(minute) ?? 0) + 1);
    let total = 0;
    for (const [at, count] of minutes) {
      if (at <= minute - MINUTES) minutes.delete(at);
      else total += count;
    }
    if (total < this.#max) return undefined;
    // Until the oldest minute that counts has left the window.
    return (Math.min(...minutes.keys()) + MINUTES + 1) * MINUTE_MS;
  }
}

/** What another server said about a file is no refusal of the platform. */
function isRefusal(result: SendResult): boolean {
  return (
    result.kind === "permanent" || (result.kind === "retry" && result.scope !== "file" && result.afterMs !== undefined)
  );
}
