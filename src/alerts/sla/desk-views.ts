/** Clocks and policies as people see them: with the used time and the time left at this moment. */
import type { SlaClock, SlaMeasure } from "../../domain/alerts/sla.js";
import { leftOf, usedOf } from "./clock/frame.js";
import type { Policy } from "./policies/policies.js";

/** A clock with the values that need its policy and calendar. */
export interface ClockView {
  clock: SlaClock;
  /** Working time used, now or when it ended. */
  usedMs: number;
  percentUsed: number;
  /** Working time left; negative when it is overdue. */
  leftMs: number;
  /** The end of the time outside working hours, in which the clock does not run. */
  resumesAt?: number | undefined;
  timezone?: string;
}

export interface PolicyView {
  id: string;
  for: string;
  measure: SlaMeasure;
  match?: string;
  unanswered?: string | undefined;
  targetMs?: number;
  calendar: string;
  timezone?: string;
  warnAt: string[];
  pauseWhen?: readonly string[];
  severity: Policy["severity"];
  routes?: readonly string[];
  runbook?: string;
  open: number;
  overdue: number;
}

export function viewOf(clock: SlaClock, policy: Policy | undefined, now: number): ClockView {
  const at = clock.endedAt ?? now;
  const usedMs = clock.usedMs ?? usedOf(clock, policy, at);
  return {
    clock,
    usedMs,
    percentUsed: clock.targetMs > 0 ? usedMs / clock.targetMs : 1,
    leftMs: leftOf(clock, usedMs, at),
    resumesAt: resumptionOf(clock, policy, usedMs, at),
    timezone: policy?.calendar.timezone,
  };
}

function resumptionOf(clock: SlaClock, policy: Policy | undefined, usedMs: number, now: number): number | undefined {
  if (clock.state !== "running") return undefined;
  const opensAt = policy?.calendar.nextOpen(now);
  // A deadline without any working time before it runs by the wall.
  return opensAt !== undefined && opensAt > now && usedOf(clock, policy, opensAt) === usedMs ? opensAt : undefined;
}

export function describe(policy: Policy): Omit<PolicyView, "open" | "overdue"> {
  const { id, measure, match, unanswered, targetMs, calendar, warnAt, pauseWhen, severity, routes, runbook } = policy;
  return {
    id,
    for: policy.for,
    measure,
    match,
    unanswered,
    targetMs,
    calendar: calendar.name,
    timezone: calendar.timezone,
    warnAt: warnAt.map(({ label }) => label),
    pauseWhen,
    severity,
    routes,
    runbook,
  };
}
