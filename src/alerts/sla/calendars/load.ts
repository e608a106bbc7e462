/** Makes calendars from the configuration. Their dependencies (Temporal, holidays) are loaded here, and only when a calendar needs them. */

import { HookgateError } from "../../../lib/errors.js";
import { DAY_MS } from "../../../lib/time/duration.js";
import { ALWAYS, createCalendar, type WorkCalendar } from "./calendar.js";
import type { CalendarConfig } from "./config.js";
import { type Holidays, loadHolidays } from "./holidays.js";
import { type Closure, dayNumber, parseDate, parseDays, parseHours, type Range, united, without } from "./written.js";
import { loadZone } from "./zone.js";

export type Calendars = ReadonlyMap<string, WorkCalendar>;

/** Rejects with SLA_CALENDAR_INVALID, naming the calendar. */
export async function loadCalendars(configs: Readonly<Record<string, CalendarConfig>>): Promise<Calendars> {
  const calendars = new Map<string, WorkCalendar>([[ALWAYS.name, ALWAYS]]);
  for (const [name, config] of Object.entries(configs))
    calendars.set(name, await loadCalendar(name, config).catch((error: unknown) => refuse(name, error)));
  return calendars;
}

/** Rejects with SLA_CALENDAR_INVALID. */
export async function loadCalendar(name: string, config: CalendarConfig): Promise<WorkCalendar> {
  const [zone, holidays] = await Promise.all([
    loadZone(config.timezone),
    config.holidays && loadHolidays(config.holidays),
  ]);
  const calendar = createCalendar({ name, timezone: config.timezone, zone, hoursOf: hoursOf(config, holidays) });
  if (calendar.nextOpen(Date.UTC(2026, 0, 1)) !== undefined) return calendar;
  throw new HookgateError({
    code: "SLA_CALENDAR_INVALID",
    message: "it is never open",
    hint: "Give it hours, for example `mon-fri: [09:00-17:00]`.",
  });
}

function refuse(name: string, error: unknown): never {
  if (!(error instanceof HookgateError)) throw error;
  const { code, message, hint } = error;
  throw new HookgateError({ code, message: `sla.calendars.${name}: ${message}`, hint: hint || undefined });
}

/** The hours of a date: those of its own, else those of its weekday without closed times. */
function hoursOf(config: CalendarConfig, holidays: Holidays | undefined): (day: number) => readonly Range[] {
  const weekly = weeklyHours(config);
  const own = new Map(Object.entries(config.open).map(([date, hours]) => [dayNumber(date), ranges(hours)]));
  const closures = config.closed.flatMap((text) => parseDate(text) ?? []);
  const closedIn = new Map<number, readonly Range[]>();
  /** Closed time of a year and of the days around it, in local time. */
  const closed = (year: number): readonly Range[] => {
    let known = closedIn.get(year);
    if (known === undefined) {
      // Some holidays of the year before are not over.
      const free = holidays ? [...holidays(year - 1), ...holidays(year)] : [];
      known = united([...free, ...closures.flatMap((closure) => closureIn(closure, year))]);
      closedIn.set(year, known);
    }
    return known;
  };
  return (day) => {
    const special = own.get(day);
    if (special !== undefined) return special;
    const hours = weekly[(((day + 4) % 7) + 7) % 7] ?? []; // 1970-01-01 was a Thursday
    if (hours.length === 0) return hours;
    const start = day * DAY_MS;
    const taken = closed(new Date(start).getUTCFullYear())
      .filter(([from, to]) => from < start + DAY_MS && to > start)
      .map(([from, to]): Range => [from - start, to - start]);
    return taken.length === 0 ? hours : without(hours, taken);
  };
}

function weeklyHours({ hours }: CalendarConfig): Range[][] {
  const weekly: Range[][] = [[], [], [], [], [], [], []];
  for (const [days, written] of Object.entries(hours))
    for (const day of parseDays(days) ?? []) weekly[day] = united([...(weekly[day] ?? []), ...ranges(written)]);
  return weekly;
}

function ranges(written: readonly string[]): Range[] {
  const parsed = written.map(parseHours);
  return united(parsed.filter((range) => range !== undefined));
}

function closureIn(closure: Closure, year: number): Range[] {
  if (closure.kind === "once") return [[closure.from, closure.to]];
  const day = dayNumber(`${year}-${two(closure.month)}-${two(closure.day)}`);
  return day === undefined ? [] : [[day * DAY_MS + closure.from, day * DAY_MS + closure.to]];
}

const two = (part: number) => String(part).padStart(2, "0");
