import fc from "fast-check";
import { expect, it } from "vitest";
import { calendarConfig } from "../../../src/alerts/sla/calendars/config.js";
import { loadCalendar } from "../../../src/alerts/sla/calendars/load.js";
import { reachedAt, startCourse, usedAt, withPause } from "../../../src/alerts/sla/clock/course.js";

const MINUTE = 60_000;
const START = Date.parse("2026-03-26T07:00:00Z"); // over the change to summer time, and a week-end

it("uses the working minutes in which it did not stand still, however often it paused; and reaches them in the last of those", async () => {
  const office = await loadCalendar(
    "office",
    calendarConfig.parse({
      timezone: "Europe/Berlin",
      hours: { "mon-fri": ["09:00-12:30", "13:30-18:00"], sun: "01:00-05:00" },
    }),
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 6 * 1440 }), { maxLength: 12 }),
      fc.integer({ min: 0, max: 6 * 1440 }),
      (switches, lookedAfter) => {
        const times = switches.sort((a, b) => a - b).filter((minute) => minute <= lookedAfter);
        let course = startCourse(START);
        times.forEach((minute, index) => {
          course = withPause(course, index % 2 === 0, START + minute * MINUTE, office);
        });
        const at = START + lookedAfter * MINUTE;
        let expected = 0;
        for (let minute = 0; minute < lookedAfter; minute++) {
          const isPaused = times.filter((time) => time <= minute).length % 2 === 1;
          const from = START + minute * MINUTE;
          if (!isPaused) expected += office.between(from, from + MINUTE);
        }
        expect(usedAt(course, office, at)).toBe(expected);
        if (expected === 0) return;
        const reached = reachedAt(course, office, expected) ?? Number.NaN;
        expect(reached).toBeLessThanOrEqual(at);
        expect(usedAt(course, office, reached)).toBe(expected);
        expect(usedAt(course, office, reached - 1)).toBe(expected - 1);
      },
    ),
    { numRuns: 200 },
  );
});

it("puts old pauses together when there are hundreds, and counts as before", async () => {
  const office = await loadCalendar(
    "office",
    calendarConfig.parse({ timezone: "UTC", hours: { daily: "00:00-24:00" } }),
  );
  let course = startCourse(START);
  for (let i = 0; i < 1_000; i++) course = withPause(course, i % 2 === 0, START + (i + 1) * MINUTE, office);
  expect(course.pauses.length).toBeLessThanOrEqual(200);
  expect(usedAt(course, office, START + 1_000 * MINUTE)).toBe(500 * MINUTE);
  expect(reachedAt(course, office, 500 * MINUTE)).toBe(START + 999 * MINUTE);
});
