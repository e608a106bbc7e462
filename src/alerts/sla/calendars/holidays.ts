/** Public holidays from date-holidays, which is large: loaded when the first calendar asks for holidays. */

import { HookgateError } from "../../../lib/errors.js";
import { DAY_MS } from "../../../lib/time/duration.js";
import type { HolidaysConfig } from "./config.js";
import type { Range } from "./written.js";

/** Free time of a year, in local time (ms since 1970-01-01T00:00 on the wall). */
export type Holidays = (year: number) => readonly Range[];

/** Rejects with SLA_CALENDAR_INVALID when there is no such country, state or region. */
export async function loadHolidays({ country, state, region, types }: HolidaysConfig): Promise<Holidays> {
  const { default: HolidayDays } = await import("date-holidays");
  const known = new HolidayDays();
  requireKnown(known.getCountries(), country, "country");
  if (state !== undefined) requireKnown(known.getStates(country), state, `state of ${country}`);
  if (region !== undefined) requireKnown(known.getRegions(country, state ?? ""), region, `region of ${state}`);
  const place = { country, state, region };
  const days = new HolidayDays(place, { types });
  return (year) => days.getHolidays(year).map(({ date, start, end }) => rangeOf(date, end.getTime() - start.getTime()));
}

function requireKnown(known: Record<string, string> | undefined, code: string, what: string): void {
  if (known && code in known) return;
  const codes = Object.keys(known ?? {});
  throw new HookgateError({
    code: "SLA_CALENDAR_INVALID",
    message: `holidays: there is no ${what} "${code}"`,
    hint: codes.length > 0 ? `Known: ${codes.join(", ")}.` : "It has none.",
  });
}

/**
 * The date as it is written, on the calendar of the place. Days are counted instead of hours: the day of a clock change has 23 or 25. Where
 * days start on the evening before (a suffix of the date shows that), the date itself is the working day that is free.
 */
function rangeOf(date: string, lengthMs: number): Range {
  const from = Date.parse(`${date.slice(0, 10)}T${date.slice(11, 19) || "00:00:00"}Z`);
  return [from, from + (from % DAY_MS === 0 ? Math.max(1, Math.round(lengthMs / DAY_MS)) * DAY_MS : lengthMs)];
}
