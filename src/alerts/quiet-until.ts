/** Quiet hours of a destination, as a clock on the wall of their zone shows them. */
import { isAtLeast } from "../domain/alerts/alert.js";
import type { Severity } from "../domain/alerts/alert-signal.js";
import { nextCron } from "../lib/time/cron.js";
import { localTimezone, timeIn } from "../lib/time/timezone.js";
import type { QuietConfig, RotaConfig } from "./config.js";

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

/** The end of the quiet hours that hold now; undefined when alerts of this severity may be sent now. */
export function quietUntil(quiet: QuietConfig | undefined, severity: Severity, now: number): number | undefined {
  if (quiet === undefined || isAtLeast(severity, quiet.bypass)) return undefined;
  const { from, to, days, timezone = localTimezone() } = quiet;
  if (!isWithin({ from, to, days }, timezone, now)) return undefined;
  const [hour, minute] = to.split(":").map(Number);
  return nextCron({ cron: `${minute} ${hour} * * *`, timezone }, now);
}

/** `days` are those on which it starts: from 22:00 to 06:00 on fri reaches into Saturday. */
export function isWithin(
  { from, to, days }: { from: string; to: string; days?: RotaConfig["shifts"][number]["days"] | undefined },
  timezone: string,
  now: number,
): boolean {
  const local = timeIn(timezone, now);
  const time = local.slice(11, 16);
  const today = new Date(`${local.slice(0, 10)}T00:00:00Z`).getUTCDay();
  const begins = (day: number) => days === undefined || days.includes(DAYS[(day + 7) % 7] as (typeof DAYS)[number]);
  if (from < to) return begins(today) && from <= time && time < to;
  return (begins(today) && time >= from) || (begins(today - 1) && time < to);
}
