/** Business calendars in the configuration: working hours. Everything is local time of the calendar's zone. */
import { z } from "zod";
import { timezone } from "../../../lib/time/timezone.js";
import { dayNumber, parseDate, parseDays, parseHours } from "./written.js";

const hours = z
  .union([z.string(), z.array(z.string())])
  .transform((given) => [given].flat())
  .superRefine((written, context) => {
    for (const text of written)
      if (parseHours(text) === undefined)
        context.addIssue({
          code: "custom",
          message: `expected hours such as 09:00-12:30, got "${text}"; hours past midnight are two: 22:00-24:00 and, the day after, 00:00-06:00`,
          input: text,
        });
  });

/** Hours by keys that `parse` knows. */
function keyed(parse: (key: string) => unknown, expected: string) {
  return z.record(z.string(), hours).superRefine((given, context) => {
    for (const key of Object.keys(given))
      if (parse(key) === undefined)
        context.addIssue({ code: "custom", path: [key], message: `expected ${expected}, got "${key}"`, input: key });
  });
}

const dates = z.string().refine((text) => parseDate(text) !== undefined, {
  error: ({ input }) =>
    `expected a date (2026-12-24), one of every year (12-24), a range (2026-12-24..2027-01-01) or a part of a day (2026-12-24 14:00-24:00), got "${String(input)}"`,
});

const holidays = z.strictObject({
  country: z.string().describe("A country's code, such as DE, GB, US (date-holidays)."),
  state: z.string().optional().describe("A state's code within it, such as BY."),
  region: z.string().optional().describe("The code of a region within the state."),
  types: z
    .array(z.enum(["public", "bank", "school", "optional", "observance"]))
    .min(1)
    .default(["public"])
    .describe("Which kinds of holidays are free days."),
});

export const calendarConfig = z.strictObject({
  timezone: timezone.describe("The time zone of all times of the calendar, such as Europe/Berlin."),
  hours: keyed(parseDays, "days such as mon-fri or sat,sun").describe(
    "Working hours by days: `mon-fri: [09:00-12:30, 13:30-18:00]`.",
  ),
  holidays: holidays.optional().describe("Public holidays on which no working time passes."),
  closed: z
    .array(dates)
    .default([])
    .describe(
      "More free days and hours: 2026-12-24, every year 12-24, 2026-12-24..2027-01-01, 2026-12-24 14:00-24:00.",
    ),
  open: keyed(dayNumber, "a date such as 2026-12-19")
    .default({})
    .describe("Hours of single days, in place of `hours`, `holidays` and `closed`: `2026-12-19: 10:00-14:00`."),
});
export type CalendarConfig = z.output<typeof calendarConfig>;
export type HolidaysConfig = NonNullable<CalendarConfig["holidays"]>;
