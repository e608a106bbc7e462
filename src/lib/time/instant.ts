/** Dates and times as people write them: `2026-12-24T18:00`, with an offset or in a time zone. */
import { Cron } from "croner";

const FORM = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/i;

/** ms since the epoch; undefined when it is no date and time. Without an offset it is local time of `timezone`. */
export function parseInstant(text: string, timezone: string): number | undefined {
  const [, date, minutes, seconds, offset] = FORM.exec(text) ?? [];
  if (date === undefined || minutes === undefined) return undefined;
  const written = `${date}T${minutes}${seconds ?? ":00"}`;
  if (!isOnCalendar(written)) return undefined;
  if (offset !== undefined) return Date.parse(written + offset.toUpperCase()) || undefined;
  // A time that a clock change skips is the one right after the change.
  return new Cron(written, { paused: true, timezone, allowPast: true }).nextRun(new Date(0))?.getTime();
}

export const hasOffset = (text: string): boolean => FORM.exec(text)?.[4] !== undefined;

/** For a time without an offset that a clock change skips in `timezone`: the local time at which `parseInstant` has it, `2027-03-28T03:30`. */
export function skippedTo(text: string, timezone: string): string | undefined {
  const [, date, minutes, , offset] = FORM.exec(text) ?? [];
  const at = offset === undefined ? parseInstant(text, timezone) : undefined;
  if (at === undefined) return undefined;
  const local = new Intl.DateTimeFormat("sv-SE", { timeZone: timezone, dateStyle: "short", timeStyle: "short" });
  const shown = local.format(at).replace(" ", "T");
  return shown === `${date}T${minutes}` ? undefined : shown;
}

/** The 31st of February is refused instead of becoming a day in March. */
function isOnCalendar(written: string): boolean {
  const read = new Date(`${written}Z`);
  return !Number.isNaN(read.getTime()) && read.toISOString().startsWith(written.slice(0, 16));
}

/** The last time that clocks take. Milliseconds that are multiplied by 1,000 again are far beyond it. */
export const LATEST_TIME = Date.UTC(2200, 0, 1);
