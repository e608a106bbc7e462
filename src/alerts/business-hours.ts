/** When the next business hour starts, and the zone of times that people write without one. */

import { nextCron } from "../lib/time/cron.js";
import { DAY_MS } from "../lib/time/duration.js";
import { localTimezone } from "../lib/time/timezone.js";
import type { AlertsConfig } from "./config.js";

type Hours = AlertsConfig["business_hours"];

export const zoneOf = ({ timezone = localTimezone() }: Hours): string => timezone;

export function nextBusinessHour(hours: Hours, now: number): number {
  const [hour, minute] = hours.from.split(":").map(Number);
  const cron = `${minute} ${hour} * * ${hours.days.join(",")}`;
  return nextCron({ cron, timezone: zoneOf(hours) }, now) ?? now + DAY_MS;
}
