/** The working time that a clock has run, and the time when it will have run so much: pure arithmetic over its start and its pauses. */
import type { SlaCourse } from "../../../domain/alerts/sla.js";
import type { WorkCalendar } from "../calendars/calendar.js";

/** Above this many the oldest pauses become a sum. */
const MAX_PAUSES = 200;

export function startCourse(at: number): SlaCourse {
  return { since: at, usedMs: 0, pauses: [] };
}

/** Stretches in which it ran, in order; the last one may be open. */
function* runs({ since, pauses, pausedSince }: SlaCourse): Generator<readonly [from: number, to: number]> {
  let from = since;
  for (const [start, end] of pauses) {
    if (start > from) yield [from, start];
    from = Math.max(from, end);
  }
  const to = pausedSince ?? Number.POSITIVE_INFINITY;
  if (to > from) yield [from, to];
}

export function usedAt(course: SlaCourse, calendar: WorkCalendar, at: number): number {
  let used = course.usedMs;
  for (const [from, to] of runs(course)) {
    if (from >= at) break;
    used += calendar.between(from, Math.min(to, at));
  }
  return used;
}

/** The time when the clock had, or will have, used so much; undefined when it pauses before that. */
export function reachedAt(course: SlaCourse, calendar: WorkCalendar, ms: number): number | undefined {
  let left = ms - course.usedMs;
  if (left <= 0) return course.since;
  for (const [from, to] of runs(course)) {
    if (to === Number.POSITIVE_INFINITY) return calendar.after(from, left);
    const ran = calendar.between(from, to);
    if (ran >= left) return calendar.after(from, left);
    left -= ran;
  }
  return undefined;
}

/** Pauses, or runs again, from `at` on. Times before the known course are moved up to its end. */
export function withPause(course: SlaCourse, isPaused: boolean, at: number, calendar: WorkCalendar): SlaCourse {
  const { pausedSince, ...rest } = course;
  if (isPaused === (pausedSince !== undefined)) return course;
  if (isPaused) return { ...course, pausedSince: Math.max(at, course.since, course.pauses.at(-1)?.[1] ?? 0) };
  const from = pausedSince ?? at;
  return compact({ ...rest, pauses: [...course.pauses, [from, Math.max(from, at)]] }, calendar);
}

function compact(course: SlaCourse, calendar: WorkCalendar): SlaCourse {
  if (course.pauses.length <= MAX_PAUSES) return course;
  const kept = course.pauses.slice(MAX_PAUSES / 2);
  const since = course.pauses[MAX_PAUSES / 2 - 1]?.[1] ?? course.since;
  return { since, usedMs: usedAt(course, calendar, since), pauses: kept };
}
