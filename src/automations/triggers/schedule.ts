/** When a timed trigger comes: its name, its next time, and whether a time counts as missed. Nothing in here waits. */
import { PAUSED_REASON, type TimedKind } from "../../domain/automation.js";
import { isMissed, LATE_MS, nextCron } from "../../lib/time/cron.js";
import { formatDuration, writeDuration } from "../../lib/time/duration.js";
import { timeIn } from "../../lib/time/timezone.js";
import type { TriggerOf } from "../definition/definition.js";
import { nextEvery } from "./every.js";

export type TimedTrigger = TriggerOf<TimedKind>;

/** The schedule as text: as long as it stays the same, the computed times are valid. */
export function scheduleOf(trigger: TimedTrigger): string {
  switch (trigger.kind) {
    case "every":
      return `every ${writeDuration(trigger.everyMs)}`;
    case "cron":
      return `cron ${trigger.cron} (${trigger.timezone})`;
    case "at":
      return `at ${new Date(trigger.at).toISOString()}`;
  }
}

/** The first time of a trigger that is new. */
export function firstTime(trigger: TimedTrigger, now: number): number | undefined {
  switch (trigger.kind) {
    case "every":
      return nextEvery(trigger, now, undefined);
    case "cron":
      return nextCron(trigger, now);
    case "at":
      // A time that is long past was meant for a time before this gateway: it is reported, and does not fire.
      return trigger.at >= now - LATE_MS ? trigger.at : undefined;
  }
}

/** The time after the one that was due at `dueAt` and is dealt with now: however many were missed, the next one lies ahead. */
export function timeAfter(trigger: TimedTrigger, dueAt: number, now: number): number | undefined {
  switch (trigger.kind) {
    case "every":
      return nextEvery(trigger, now, dueAt);
    case "cron":
      return nextCron(trigger, Math.max(dueAt, now));
    case "at":
      return undefined;
  }
}

/** `cron 0 9 * * * (Europe/Berlin) at 2026-11-21T09:00:00+01:00`; of a time that is made good, how late. */
export function reasonOf(trigger: TimedTrigger, dueAt: number, now: number, startedAt: number): string {
  const due = timeIn(trigger.kind === "cron" ? trigger.timezone : "UTC", dueAt);
  const name = trigger.kind === "at" ? `at ${due}` : `${scheduleOf(trigger)} at ${due}`;
  return isMissed(dueAt, now, startedAt) ? `${name}, caught up ${formatDuration(now - dueAt)} later` : name;
}

/** Why a hook that fires once, and whose time came during a pause, never fires. */
export function onceReason(at: number): string {
  return `${PAUSED_REASON} when its time came, ${new Date(at).toISOString()}: it does not fire any more`;
}
