/** Lengths and times as people write them into commands: `2h`, `17:00`, `tomorrow 9:30`, `fri 12:00`, a date, or the next business hour. */

import { writeMoment } from "../../src/lib/markdown/tokens.js";
import { DAY_MS, parseDuration } from "../../src/lib/time/duration.js";
import { parseInstant } from "../../src/lib/time/instant.js";
import { dayIn } from "../../src/lib/time/timezone.js";
import { badUsage } from "../answer.js";

export type When =
  | { kind: "length"; ms: number }
  | { kind: "at"; at: number }
  /** The start of the next business hour. */
  | { kind: "business" };

const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const CLOCK = /^(?:([a-z]{3,9})(?: at)?(?: |$))?(?:(\d{1,2})(?::(\d{2}))? ?(am|pm)?)?$/i;
/** For a day that is given without a time. */
const MORNING = 9;
/** No date is later. */
const LATEST = 8_640_000_000_000_000;

/** The forms of a time, for usage texts. */
export const WHEN_FORMS =
  "Write 30m, 2h, 1d12h, 17:00, tomorrow (at 9:00), tomorrow 9:30, fri 12:00, 2026-12-24T18:00, or business.";

/** A time without an offset is in `timezone`. Throws BAD_USAGE for text that is no time, and for a past time. */
export function readWhen(given: unknown, now: number, timezone: string): When {
  const text =
    typeof given === "string"
      ? given
          .trim()
          .replace(/\s+/g, " ")
          .replace(/^until /i, "")
      : "";
  if (text === "") throw badUsage("Missing: how long, or until when.", WHEN_FORMS);
  if (/^(the )?(next )?business( hour)?$/i.test(text)) return { kind: "business" };
  const ms = parseDuration(text);
  if (ms !== undefined && now + ms > LATEST) throw badUsage(`"${text.slice(0, 80)}" is too long.`, WHEN_FORMS);
  if (ms !== undefined && ms > 0) return { kind: "length", ms };
  const at = parseInstant(text, timezone) ?? clockTime(text, now, timezone);
  if (at === undefined) throw badUsage(`"${text.slice(0, 80)}" is no time and no length of time.`, WHEN_FORMS);
  if (at <= now)
    throw badUsage(`${writeMoment({ kind: "moment", atMs: at, style: "f", timezone })} is in the past.`, WHEN_FORMS);
  return { kind: "at", at };
}

/**
 * A time and why, of a command that takes both in a row: `tomorrow 17:00 waiting for parts` without quotes is read as it is meant.
 * Throws as `readWhen`.
 */
export function readWhenAndWhy(
  { by, reason }: { by?: unknown; reason?: unknown },
  now: number,
  timezone: string,
): { when: When; reason?: string } {
  const why = typeof reason === "string" ? reason.trim() : "";
  const words = why.split(/\s+/);
  const whole = `${String(by)} ${why}`;
  if (why === "") return { when: readWhen(by, now, timezone) };
  // `2h 30m`
  if (isWhen(whole, now, timezone)) return { when: readWhen(whole, now, timezone) };
  for (let count = Math.min(3, words.length); count > 0; count--) {
    const head = `${String(by)} ${words.slice(0, count).join(" ")}`;
    if (!isWhen(head, now, timezone)) continue;
    const rest = words.slice(count).join(" ");
    return { when: readWhen(head, now, timezone), reason: rest === "" ? undefined : rest };
  }
  return { when: readWhen(by, now, timezone), reason: why };
}

function isWhen(text: unknown, now: number, timezone: string): boolean {
  try {
    readWhen(text, now, timezone);
    return true;
  } catch {
    // The caller reports what is wrong with the value.
    return false;
  }
}

/** A length from now; or the time itself. */
export function momentOf(when: When, now: number, desk: { nextBusinessHour(): number }): number {
  switch (when.kind) {
    case "length":
      return now + when.ms;
    case "at":
      return when.at;
    case "business":
      return desk.nextBusinessHour();
  }
}

/** The next such time on the wall. */
function clockTime(text: string, now: number, timezone: string): number | undefined {
  const [, day, hour, minute, half] = CLOCK.exec(text) ?? [];
  // A number alone is no time.
  if (day === undefined && minute === undefined && half === undefined) return undefined;
  const named = day?.toLowerCase();
  if (named === "today" && hour === undefined) return undefined;
  const isWeekday = named !== undefined && DAYS.some((one) => one.startsWith(named));
  if (named !== undefined && named !== "today" && named !== "tomorrow" && !isWeekday) return undefined;
  const hours = hour === undefined ? MORNING : hourOf(Number(hour), half?.toLowerCase());
  if (hours === undefined) return undefined;
  const time = `${String(hours).padStart(2, "0")}:${minute ?? "00"}`;
  const on = (days: number) => parseInstant(`${plusDays(dayIn(timezone, now), days)}T${time}`, timezone);
  if (named === "today" || named === "tomorrow") return on(named === "today" ? 0 : 1);
  for (let days = 0; days <= 7; days++) {
    const at = on(days);
    const weekday = DAYS[new Date(plusDays(dayIn(timezone, now), days)).getUTCDay()] as string;
    if (at !== undefined && at > now && (named === undefined || weekday.startsWith(named))) return at;
  }
  return undefined;
}

/** `half`: am, pm, or none. */
function hourOf(hour: number, half: string | undefined): number | undefined {
  if (half === undefined) return hour;
  return hour >= 1 && hour <= 12 ? (hour % 12) + (half === "pm" ? 12 : 0) : undefined;
}

const plusDays = (day: string, days: number) => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
