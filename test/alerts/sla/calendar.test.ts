import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkCalendar } from "../../../src/alerts/sla/calendars/calendar.js";
import { calendarConfig } from "../../../src/alerts/sla/calendars/config.js";
import { loadCalendar } from "../../../src/alerts/sla/calendars/load.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function calendar(config: unknown): Promise<WorkCalendar> {
  return loadCalendar("office", calendarConfig.parse(config));
}

const at = (iso: string) => Date.parse(iso);
const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());

const OFFICE = { timezone: "Europe/Berlin", hours: { "mon-fri": ["09:00-12:30", "13:30-18:00"] } };

describe("working time", () => {
  it("leaves out the lunch break, the night and the week-end", async () => {
    const office = await calendar(OFFICE);
    expect(office.between(at("2026-11-20T08:00:00Z"), at("2026-11-20T17:00:00Z"))).toBe(8 * HOUR);
    expect(office.between(at("2026-11-20T11:00:00Z"), at("2026-11-20T13:00:00Z"))).toBe(HOUR);
    // Friday 17:30 in Berlin and two hours: Monday 10:30.
    expect(iso(office.after(at("2026-11-20T16:30:00Z"), 2 * HOUR))).toBe("2026-11-23T09:30:00.000Z");
  });

  it("ends at the end of a day instead of the beginning of the next when both have as much", async () => {
    const office = await calendar(OFFICE);
    expect(iso(office.after(at("2026-11-20T16:00:00Z"), HOUR))).toBe("2026-11-20T17:00:00.000Z");
    expect(iso(office.nextOpen(at("2026-11-20T17:00:00Z")))).toBe("2026-11-23T08:00:00.000Z");
    expect(iso(office.nextOpen(at("2026-11-20T11:45:00Z")))).toBe("2026-11-20T12:30:00.000Z");
  });

  it("counts no hour that a clock change skips, and twice the one that it repeats", async () => {
    const night = await calendar({ timezone: "Europe/Berlin", hours: { daily: "01:00-04:00" } });
    expect(night.between(at("2026-03-29T00:00:00Z"), at("2026-03-29T12:00:00Z"))).toBe(2 * HOUR);
    expect(night.between(at("2026-10-24T22:00:00Z"), at("2026-10-25T12:00:00Z"))).toBe(4 * HOUR);
    const halves = await calendar({ timezone: "Europe/Berlin", hours: { daily: "01:00-02:30" } });
    // 01:00–02:30 and, after the clock went back, 02:00–02:30 again.
    expect(halves.between(at("2026-10-24T22:00:00Z"), at("2026-10-25T12:00:00Z"))).toBe(2 * HOUR);
  });

  it("is free on the holidays of the place, and not on those of other places", async () => {
    const epiphany = [at("2026-01-06T00:00:00Z"), at("2026-01-07T00:00:00Z")] as const;
    const bavaria = await calendar({ ...OFFICE, holidays: { country: "DE", state: "BY" } });
    const berlin = await calendar({ ...OFFICE, holidays: { country: "DE", state: "BE" } });
    expect(bavaria.between(...epiphany)).toBe(0);
    expect(berlin.between(...epiphany)).toBe(8 * HOUR);
    // Good Friday to Easter Monday: Thursday 17:00 and two hours are Tuesday 10:00.
    expect(iso(berlin.after(at("2026-04-02T15:00:00Z"), 2 * HOUR))).toBe("2026-04-07T08:00:00.000Z");
  });

  it("is free when the configuration says so: on a date, every year, for a while, for some hours; and open on single days", async () => {
    const office = await calendar({
      ...OFFICE,
      closed: ["12-31", "2026-12-24 12:30-24:00", "2026-08-03..2026-08-07"],
      open: { "2026-12-19": "10:00-14:00" },
    });
    const on = (date: string) => office.between(at(`${date}T00:00:00Z`), at(`${date}T23:00:00Z`)) / HOUR;
    expect([on("2026-12-31"), on("2027-12-31"), on("2026-12-24"), on("2026-12-23")]).toEqual([0, 0, 3.5, 8]);
    expect(office.between(at("2026-08-01T00:00:00Z"), at("2026-08-10T00:00:00Z"))).toBe(0);
    expect(on("2026-12-19")).toBe(4);
  });

  it("refuses what is no calendar, and says what was expected", async () => {
    const wrong = (config: unknown) => calendarConfig.safeParse(config).error?.issues[0]?.message;
    expect(wrong({ ...OFFICE, timezone: "Mars/Olympus" })).toContain('no time zone "Mars/Olympus"');
    expect(wrong({ ...OFFICE, hours: { "mon-fri": "22:00-06:00" } })).toContain("22:00-24:00 and, the day after");
    expect(wrong({ ...OFFICE, hours: { weekdays: "09:00-17:00" } })).toContain("expected days");
    expect(wrong({ ...OFFICE, closed: ["2026-02-30"] })).toContain("expected a date");
    await expect(calendar({ ...OFFICE, holidays: { country: "DE", state: "ZZ" } })).rejects.toMatchObject({
      code: "SLA_CALENDAR_INVALID",
      hint: expect.stringContaining("BY"),
    });
    await expect(calendar({ timezone: "UTC", hours: {} })).rejects.toThrow("never open");
  });
});

interface Closed {
  date: string;
  /** The whole day when absent. */
  part?: readonly [number, number] | undefined;
}

/** The same by looking at the clock on the wall every minute, with Intl instead of Temporal. */
function modelOf(
  timezone: string,
  hours: readonly (readonly [number, number])[],
  weekdays: readonly string[],
  closed: readonly Closed[],
) {
  const day = new Intl.DateTimeFormat("en-CA", { timeZone: timezone });
  const wall = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (minuteAt: number): boolean => {
    const [, weekday = "", hour, minute] = /^(\w+),? (\d+):(\d+)$/.exec(wall.format(minuteAt)) ?? [];
    const time = Number(hour) * 60 + Number(minute);
    const isOpen = weekdays.includes(weekday.toLowerCase()) && hours.some(([from, to]) => from <= time && time < to);
    if (!isOpen || closed.length === 0) return isOpen;
    const date = day.format(minuteAt);
    return !closed.some((one) => one.date === date && (!one.part || (one.part[0] <= time && time < one.part[1])));
  };
}

const written = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;

/** Zones with their clock changes: at night, by half an hour, at midnight (the day begins at 01:00, or has 23:00 twice), and a day left out. */
const CHANGES: [zone: string, change: string][] = [
  ["Europe/Berlin", "2026-03-29T01:00:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00:00Z"],
  ["America/New_York", "2026-11-01T06:00:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["America/Sao_Paulo", "2018-11-04T03:00:00Z"],
  ["America/Sao_Paulo", "2018-02-18T02:00:00Z"],
  ["America/Toronto", "2005-10-30T06:00:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00:00Z"],
  ["Asia/Kathmandu", "2026-06-01T00:00:00Z"],
];

const WEEK = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const someHours = fc
  .uniqueArray(fc.integer({ min: 0, max: 24 * 60 }), { minLength: 2, maxLength: 6 })
  .map((minutes) => minutes.sort((a, b) => a - b))
  .map((minutes) => {
    const pairs: [number, number][] = [];
    for (let i = 0; i + 1 < minutes.length; i += 2) pairs.push([minutes[i] as number, minutes[i + 1] as number]);
    return pairs;
  });

/** Holidays, whole and in part, on the day before, of and after the clock change. */
const someClosed = fc.array(
  fc.record({
    day: fc.integer({ min: -1, max: 1 }),
    part: fc.option(
      fc
        .uniqueArray(fc.integer({ min: 0, max: 24 * 60 }), { minLength: 2, maxLength: 2 })
        .map(([a = 0, b = 0]): [number, number] => [Math.min(a, b), Math.max(a, b)]),
      { nil: undefined },
    ),
  }),
  { maxLength: 2 },
);
const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

describe("working time, held against a look at the clock every minute", () => {
  it("is the same between any two minutes around a clock change, and `after` is its inverse", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...CHANGES),
        someHours,
        fc.subarray(WEEK, { minLength: 3 }),
        someClosed,
        fc.integer({ min: -2 * 1440, max: 1440 }),
        fc.integer({ min: 0, max: 2 * 1440 }),
        fc.integer({ min: 0, max: 59_999 }),
        async ([timezone, change], hours, weekdays, daysOff, startMinutes, lengthMinutes, oddMs) => {
          const closed = daysOff.map(({ day, part }) => ({ date: dateOf(at(change) + day * 24 * HOUR), part }));
          const days = weekdays.join(",");
          const office = await calendar({
            timezone,
            hours: { [days]: hours.map(([from, to]) => `${written(from)}-${written(to)}`) },
            closed: closed.map(({ date, part }) => (part ? `${date} ${written(part[0])}-${written(part[1])}` : date)),
          });
          const isWorking = modelOf(timezone, hours, weekdays, closed);
          const from = at(change) + startMinutes * MINUTE;
          const to = from + lengthMinutes * MINUTE;
          let expected = 0;
          for (let minute = from; minute < to; minute += MINUTE) if (isWorking(minute)) expected += MINUTE;
          expect(office.between(from, to)).toBe(expected);
          // Deps of minutes: split anywhere, the sum is the same.
          const middle = Math.min(to, from + oddMs);
          expect(office.between(from, middle) + office.between(middle, to)).toBe(expected);
          if (expected === 0) return;
          const reached = office.after(from, expected) ?? Number.NaN;
          expect(reached).toBeLessThanOrEqual(to);
          expect(office.between(from, reached)).toBe(expected);
          expect(office.between(from, reached - 1)).toBe(expected - 1);
        },
      ),
      { numRuns: 120 },
    );
  });
});
