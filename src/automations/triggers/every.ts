/** `every: 5m`: at a steady interval, counted from when the hook was first seen. */
import { z } from "zod";
import { DAY_MS } from "../../lib/time/duration.js";
import { someDuration } from "../../lib/validation/config-fields.js";
import type { TriggerOf } from "../definition/definition.js";
import { catchUp } from "./catch-up.js";

const MIN_EVERY_MS = 1_000;
const MAX_EVERY_MS = 366 * DAY_MS;

export const everyOptions = z
  .strictObject({
    every: someDuration()
      .refine((ms) => ms >= MIN_EVERY_MS, "expected one second or more")
      .refine((ms) => ms <= MAX_EVERY_MS, "expected 366 days or less: for a date, use `at` or `cron`")
      .describe("The interval: 30s, 5m, 1h."),
    catch_up: catchUp,
  })
  .transform(({ every, catch_up }): TriggerOf<"every"> => ({ kind: "every", everyMs: every, catchUp: catch_up }));

/** Keeps its rhythm while firings are on time; a late firing restarts the rhythm, so that two never follow closely. */
export function nextEvery({ everyMs }: TriggerOf<"every">, now: number, lastDue: number | undefined): number {
  return lastDue !== undefined && lastDue + everyMs > now ? lastDue + everyMs : now + everyMs;
}
