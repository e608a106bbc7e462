/** `at: 2026-12-24T18:00:00+01:00`: once. Without an offset it is local time of `timezone`. */
import { Cron } from "croner";
import { z } from "zod";
import type { TriggerOf } from "../definition/definition.js";
import { catchUp } from "./catch-up.js";
import { localTimezone, timezone } from "./timezone.js";

const FORM = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/i;

export const atOptions = z
  .strictObject({
    at: z.string().describe("A date and time: 2026-12-24T18:00, with an offset (+01:00, Z) or in the time zone."),
    timezone: timezone.optional().describe("The zone of a time without an offset. Default: the machine's."),
    catch_up: catchUp,
  })
  .transform((options, context): TriggerOf<"at"> => {
    const at = instantOf(options.at.trim(), options.timezone ?? localTimezone());
    if (at !== undefined) return { kind: "at", at, catchUp: options.catch_up };
    context.addIssue({
      code: "custom",
      message: `expected a date and time such as 2026-12-24T18:00:00+01:00, got "${options.at}"`,
      path: ["at"],
      input: options.at,
    });
    return z.NEVER;
  });

function instantOf(text: string, timezone: string): number | undefined {
  const [, date, minutes, seconds, offset] = FORM.exec(text) ?? [];
  if (date === undefined || minutes === undefined) return undefined;
  const written = `${date}T${minutes}${seconds ?? ":00"}`;
  if (!isOnCalendar(written)) return undefined;
  if (offset !== undefined) return Date.parse(written + offset.toUpperCase()) || undefined;
  // A time that a clock change skips is the one right after the change.
  return new Cron(written, { paused: true, timezone, allowPast: true }).nextRun(new Date(0))?.getTime();
}

/** The 31st of February is refused instead of becoming a day in March. */
function isOnCalendar(written: string): boolean {
  const read = new Date(`${written}Z`);
  return !Number.isNaN(read.getTime()) && read.toISOString().startsWith(written.slice(0, 16));
}
