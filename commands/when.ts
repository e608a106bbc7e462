/** Lengths and times as people write them into commands: `2h`, `17:00`, `tomorrow 9:30`, `fri 12:00`, a date, or the next business hour. */
import { parseDuration } from "../src/lib/duration.js";
import { parseInstant } from "../src/lib/instant.js";
import { writeMoment } from "../src/lib/markdown/tokens.js";
import { dayIn } from "../src/lib/timezone.js";
import { badUsage } from "./answer.js";

export type When =
  | { kind: "length"; ms: number }
  | { kind: "at"; at: number }
  /** When the next business hour begins. */
  | { kind: "business" };

const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const CLOCK = /^(?:(today|tomorrow|[a-z]{3,9})\s+(?:at\s+)?)?(\d{1,2}):(\d{2})$/i;
const DAY_MS = 86_400_000;

/** What may be written, for usage texts. */
export const WHEN_FORMS = "Write 30m, 2h, 1d12h, 17:00, tomorrow 9:30, fri 12:00, 2026-12-24T18:00, or business.";

/** Without an offset a time is one of `timezone`. Throws BAD_USAGE for what is no time, or over. */
export function readWhen(given: unknown, now: number, timezone: string): When {
  const text = typeof given === "string" ? given.trim().replace(/\s+/g, " ") : "";
  if (text === "") throw badUsage("Missing: how long, or until when.", WHEN_FORMS);
  if (/^(the )?(next )?business( hour)?$/i.test(text)) return { kind: "business" };
  const ms = parseDuration(text);
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
  if (why === "" || isWhen(by, now, timezone)) {
    // `2h 30m`
    if (why !== "" && isWhen(whole, now, timezone)) return { when: readWhen(whole, now, timezone) };
    return { when: readWhen(by, now, timezone), reason: why === "" ? undefined : why };
  }
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
    // Whoever asks says what is wrong with it.
    return false;
  }
}

/** A length from now; or the time itself. */
export function momentOf(when: When, now: number, nextBusinessHour: () => number): number {
  switch (when.kind) {
    case "length":
      return now + when.ms;
    case "at":
      return when.at;
    case "business":
      return nextBusinessHour();
  }
}

/** The next such time on the wall. */
function clockTime(text: string, now: number, timezone: string): number | undefined {
  const [, day, hour = "", minute = ""] = CLOCK.exec(text) ?? [];
  if (hour === "") return undefined;
  const named = day?.toLowerCase();
  const isWeekday = named !== undefined && DAYS.some((one) => one.startsWith(named));
  if (named !== undefined && named !== "today" && named !== "tomorrow" && !isWeekday) return undefined;
  const on = (days: number) =>
    parseInstant(`${plusDays(dayIn(timezone, now), days)}T${hour.padStart(2, "0")}:${minute}`, timezone);
  if (named === "today" || named === "tomorrow") return on(named === "today" ? 0 : 1);
  for (let days = 0; days <= 7; days++) {
    const at = on(days);
    const weekday = DAYS[new Date(plusDays(dayIn(timezone, now), days)).getUTCDay()] as string;
    if (at !== undefined && at > now && (named === undefined || weekday.startsWith(named))) return at;
  }
  return undefined;
}

const plusDays = (day: string, days: number) => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
