/** How many new messages about alerts a destination gets in a minute. Edits are not counted: they neither ping nor push anything away. */
import { MINUTE_MS } from "../../lib/time/duration.js";

export interface Budget {
  /** True when one more message may be sent; it is counted. */
  take(destination: string, perMinute: number, now: number): boolean;
  /** When the next message may be sent. */
  nextAt(destination: string, now: number): number;
}

export function createBudget(): Budget {
  const sentAt = new Map<string, number[]>();
  return {
    take(destination, perMinute, now) {
      // Messages that were sent while the clock was ahead are not counted.
      const lately = (sentAt.get(destination) ?? []).filter((at) => at > now - MINUTE_MS && at <= now);
      sentAt.set(destination, lately);
      if (lately.length >= perMinute) return false;
      lately.push(now);
      return true;
    },
    nextAt: (destination, now) => (sentAt.get(destination)?.[0] ?? now) + MINUTE_MS,
  };
}
