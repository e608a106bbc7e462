/** The limits of a clock: its working time, its due time, and the times of its warnings. */
import type { SlaClock, SlaCourse } from "../../../domain/alerts/sla.js";
import { ALWAYS, type WorkCalendar } from "../calendars/calendar.js";
import type { Policy } from "../policies/policies.js";
import { reachedAfter } from "../policies/threshold.js";
import { reachedAt, startCourse, usedAt } from "./course.js";
import type { Span } from "./span.js";

export interface Frame {
  targetMs: number;
  /** Absent while the clock is paused before its target. */
  dueAt?: number;
  /** In order of time; those that a pause keeps from being reached are left out. */
  warnings: readonly { label: string; share: number; at: number }[];
  used(at: number): number;
  /** A fraction. */
  percent(at: number): number;
}

export function frameOf(span: Span, policy: Policy, course: SlaCourse, extendedMs: number): Frame {
  return span.deadline === undefined
    ? frame(policy, policy.calendar, course, (policy.targetMs ?? 0) + extendedMs)
    : deadlineFrame(span.deadline, span, policy, extendedMs);
}

/** A date stays where it was set: pauses make its clock silent, and do not move it. */
function deadlineFrame(deadline: number, { startedAt }: Span, policy: Policy, extendedMs: number): Frame {
  const dueAt = policy.calendar.after(deadline, extendedMs) ?? deadline;
  // There are no working hours between its start and its end: only the time on the wall can be used.
  const calendar = policy.calendar.between(startedAt, dueAt) > 0 ? policy.calendar : ALWAYS;
  return frame(policy, calendar, startCourse(startedAt), calendar.between(startedAt, dueAt), dueAt);
}

function frame(
  { warnAt }: Policy,
  calendar: WorkCalendar,
  course: SlaCourse,
  targetMs: number,
  fixedDueAt?: number,
): Frame {
  const dueAt = fixedDueAt ?? reachedAt(course, calendar, targetMs);
  const warnings = warnAt.flatMap((threshold) => {
    const ms = reachedAfter(threshold, targetMs);
    const at = ms === undefined ? undefined : reachedAt(course, calendar, ms);
    return ms === undefined || at === undefined ? [] : [{ label: threshold.label, share: ms / targetMs, at }];
  });
  const used = (at: number) => usedAt(course, calendar, at);
  return {
    targetMs,
    dueAt,
    warnings: warnings.sort((a, b) => a.share - b.share),
    used,
    percent: (at) => (targetMs > 0 ? used(at) / targetMs : 1),
  };
}

/** Working time that a clock has used by then; without its policy, time on the wall. */
export function usedOf(clock: SlaClock, policy: Policy | undefined, at: number): number {
  if (!policy) return usedAt(clock.course, ALWAYS, at);
  const { measure, cycle, startedAt, course, extendedMs, entity } = clock;
  const deadline = measure === "deadline" ? entity.deadline : undefined;
  const span = { measure, cycle, startedAt, deadline };
  return frameOf(span, policy, course, extendedMs).used(at);
}

/** Working time left; negative from its due time on: outside working hours nothing is used, and it is late all the same. */
export function leftOf({ dueAt, targetMs }: SlaClock, usedMs: number, at: number): number {
  const leftMs = targetMs - usedMs;
  return dueAt === undefined || dueAt > at ? leftMs : Math.min(leftMs, -1);
}
