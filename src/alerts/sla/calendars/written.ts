/** How hours, days and dates are written in a calendar. Times of day are ms since local midnight, dates days since 1970-01-01. */
import { DAY_MS } from "../../../lib/time/duration.js";

/** [from, to) */
export type Range = readonly [from: number, to: number];

/** `09:00-12:30`; 24:00 is the day's end. Undefined when the text is of another form, or ends before it starts. */
export function parseHours(text: string): Range | undefined {
  const [, from, to] = /^\s*(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2})\s*$/.exec(text) ?? [];
  const start = from === undefined ? undefined : timeOfDay(from);
  const end = to === undefined ? undefined : timeOfDay(to);
  return start === undefined || end === undefined || start >= end ? undefined : [start, end];
}

function timeOfDay(text: string): number | undefined {
  const [hours = 0, minutes = 0] = text.split(":").map(Number);
  const ms = (hours * 60 + minutes) * 60_000;
  return minutes > 59 || ms > DAY_MS ? undefined : ms;
}

const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** `mon-fri`, `sat,sun`, `fri-mon`, `daily` → days of the week, 0 = Sunday. */
export function parseDays(text: string): number[] | undefined {
  const days = new Set<number>();
  for (const part of text
    .trim()
    .toLowerCase()
    .split(/\s*,\s*/)) {
    const [first = "", last = first, ...more] = part === "daily" ? ["sun", "sat"] : part.split(/\s*-\s*/);
    const from = WEEKDAYS.indexOf(first.slice(0, 3));
    const to = WEEKDAYS.indexOf(last.slice(0, 3));
    if (from < 0 || to < 0 || more.length > 0) return undefined;
    for (let day = from; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === to) break;
    }
  }
  return [...days];
}

/** A closed time, in local time; `yearly` ones count from the beginning of their year's day. */
export type Closure =
  | { kind: "once"; from: number; to: number }
  | { kind: "yearly"; month: number; day: number; from: number; to: number };

/** `2026-12-24`, `12-24`, `2026-12-24..2027-01-01`, each but the range also with hours. */
export function parseDate(text: string): Closure | undefined {
  const [, first, last, hours] =
    /^\s*(\d{4}-\d{2}-\d{2}|\d{2}-\d{2})(?:\s*\.\.\s*(\d{4}-\d{2}-\d{2}))?(?:\s+(\S+))?\s*$/.exec(text) ?? [];
  if (first === undefined || (last !== undefined && hours !== undefined)) return undefined;
  const [from, to] = hours === undefined ? [0, DAY_MS] : (parseHours(hours) ?? []);
  if (from === undefined || to === undefined) return undefined;
  if (first.length === 5) {
    const [month = 0, day = 0] = first.split("-").map(Number);
    // A leap year, so that 02-29 can be named.
    if (last !== undefined || dayNumber(`2028-${first}`) === undefined) return undefined;
    return { kind: "yearly", month, day, from, to };
  }
  const start = dayNumber(first);
  const end = last === undefined ? start : dayNumber(last);
  if (start === undefined || end === undefined || end < start) return undefined;
  return { kind: "once", from: start * DAY_MS + from, to: end * DAY_MS + to };
}

/** Days since 1970-01-01; undefined when there is no such date. */
export function dayNumber(date: string): number | undefined {
  const at = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== date ? undefined : at / DAY_MS;
}

/** Overlapping and touching ranges as one, in order. */
export function united(ranges: readonly Range[]): Range[] {
  const result: [number, number][] = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else if (from < to) result.push([from, to]);
  }
  return result;
}

/** The parts of `ranges` that are in none of `taken`. */
export function without(ranges: readonly Range[], taken: readonly Range[]): Range[] {
  let left: Range[] = [...ranges];
  for (const [from, to] of taken)
    left = left.flatMap(([start, end]): Range[] =>
      to <= start || from >= end
        ? [[start, end]]
        : [[start, Math.min(from, end)] as const, [Math.max(to, start), end] as const].filter(([a, b]) => a < b),
    );
  return left;
}
