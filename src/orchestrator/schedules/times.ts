/** The times of a schedule, and the ids of its starts. Nothing in here waits. */
import { createHash } from "node:crypto";
import type { Schedule } from "../../domain/orchestrator/schedule.js";
import { nextCron } from "../../lib/time/cron.js";

/** The first time after `after`; undefined when the schedule is paused, or has no further time. */
export function nextTime({ expression, timezone, paused }: Schedule, after: number): number | undefined {
  return paused === undefined ? nextCron({ cron: expression, timezone }, after) : undefined;
}

/** The id is the same for the same time, or the same command, so that a start that a crash cut off starts no second mission. */
export function missionIdOf(scheduleId: string, start: number | string): string {
  return `m_${createHash("sha256").update(`${scheduleId}:${start}`).digest("hex").slice(0, 19)}`;
}

/** The dispatch id of `schedule:trigger` for the same time. */
export const dispatchIdOf = (scheduleId: string, start: number | string) => `schedule_${scheduleId}_${start}`;

/** With `undefined` fields left out. */
export function withNext({ nextAt: _, ...schedule }: Schedule, nextAt: number | undefined): Schedule {
  return { ...schedule, nextAt };
}
