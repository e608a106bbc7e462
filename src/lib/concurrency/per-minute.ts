/** How often something happens in a minute, by key: a sender, or the source of wrong tokens. */

import { HookgateError } from "../errors.js";
import type { Clock } from "../time/clock.js";
import { MINUTE_MS } from "../time/duration.js";

const MAX_KEYS = 10_000;

export interface PerMinute {
  /** Counts one more; gives the count of the current minute of this key. */
  add(key: string): number;
  /** The count of the current minute of this key. */
  count(key: string): number;
  /** RATE_LIMITED, with the seconds until the minute of this key ends. */
  exceeded(key: string, what: string): HookgateError;
}

export function createPerMinute(clock: Clock): PerMinute {
  const minutes = new Map<string, { count: number; endsAt: number }>();

  function current(key: string): { count: number; endsAt: number } | undefined {
    const minute = minutes.get(key);
    // A minute that ends later than in a minute was started before the clock was set back.
    return minute && minute.endsAt > clock.now() && minute.endsAt <= clock.now() + MINUTE_MS ? minute : undefined;
  }

  /** Keys are in the order in which their minutes started: the first ones have ended, or are the oldest. */
  function start(key: string) {
    minutes.delete(key);
    for (const other of minutes.keys()) {
      if (current(other) && minutes.size < MAX_KEYS) break;
      minutes.delete(other);
    }
    const minute = { count: 0, endsAt: clock.now() + MINUTE_MS };
    minutes.set(key, minute);
    return minute;
  }

  return {
    add: (key) => ++(current(key) ?? start(key)).count,
    count: (key) => current(key)?.count ?? 0,
    exceeded(key, what) {
      const seconds = Math.ceil(((current(key)?.endsAt ?? clock.now()) - clock.now()) / 1000);
      return new HookgateError({
        code: "RATE_LIMITED",
        message: `too many ${what}; try again in ${seconds} s`,
        retryable: true,
        retryAfterMs: seconds * 1000,
      });
    },
  };
}
