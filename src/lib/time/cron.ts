/** Cron expressions in a time zone: their next time, and the error of a wrong one. Nothing in here waits. */
import { Cron } from "croner";
import { errorMessage } from "../errors.js";
import { timezoneProblem } from "./timezone.js";

export interface CronTimes {
  /** Five fields (minute hour day month weekday), six with seconds first, or `@daily` and the like. */
  cron: string;
  /** An IANA name. */
  timezone: string;
}

/** In words, or undefined when there is nothing wrong. */
export function cronProblem(times: CronTimes): string | undefined {
  const zone = timezoneProblem(times.timezone);
  if (zone !== undefined) return zone;
  try {
    // Any moment does: a pattern that comes at all comes within croner's horizon.
    return nextCron(times, 0) === undefined ? `"${times.cron}" never comes` : undefined;
  } catch (error) {
    return `"${times.cron}" is no cron expression: ${inWords(errorMessage(error))}`;
  }
}

function inWords(message: string): string {
  if (/parts are required/.test(message)) return "expected five fields, or six with seconds first";
  return message.replace(/^CronPattern: /, "").replace(/\.+$/, "");
}

/** The first time after `after`; undefined when there is none. A fixed time that a clock change skips comes right after it; one that it repeats comes once. */
export function nextCron({ cron, timezone }: CronTimes, after: number): number | undefined {
  // A list or range of hours is as fixed as a single one: only * and / mean "all the time".
  const pattern = new Cron(cron, { paused: true, mode: "5-or-6-parts", timezone, fixedTimeRule: "no-wildcard" });
  return pattern.nextRun(new Date(after))?.getTime();
}

/** Later than this, the machine slept or the clock was set: the process did not run when it was due. */
export const LATE_MS = 60_000;

export function isMissed(dueAt: number, now: number, startedAt: number): boolean {
  return dueAt < startedAt || now - dueAt > LATE_MS;
}
