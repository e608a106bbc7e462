/** People's actions on an alert. The same action twice changes nothing the second time. */
import type { Actor } from "../domain/alerts/alert.js";
import { isOpen } from "../domain/alerts/alert.js";
import type { Plan } from "./plan.js";
import { restart, resumeAfterSnooze } from "./urging.js";

export type PersonAction =
  /** `untilAt`: the alert counts as not acknowledged from then on. */
  | { kind: "ack"; untilAt?: number; assign?: boolean }
  | { kind: "snooze"; until: number }
  | { kind: "wake" }
  | { kind: "assign" }
  | { kind: "resolve"; reason?: string | undefined }
  /** `expected`: the number of steps taken when the person decided. Nothing happens when another step was taken since. */
  | { kind: "escalate"; expected?: number | undefined }
  /** More time was given, in words. */
  | { kind: "extend"; reason: string }
  | { kind: "note"; text: string };

const MAX_NOTES = 20;

/** `ackForMs`: how long an acknowledgement holds by the alert's route; 0 = for good. */
export function act(plan: Plan, action: PersonAction, by: Actor, ackForMs: number): void {
  const { alert, now } = plan;
  if (!isOpen(alert.state) && action.kind !== "note" && action.kind !== "extend") return;
  switch (action.kind) {
    case "ack": {
      if (action.assign) assign(plan, by);
      const untilAt = action.untilAt ?? (ackForMs > 0 ? now + ackForMs : undefined);
      const until = untilAt === undefined ? {} : { until: untilAt };
      const before = alert.ack;
      alert.ack = { by: by.name, at: now, ...until };
      // An escalation called others after the first acknowledgement: one of them has it now.
      if (alert.state === "acked" && alert.called !== undefined) {
        plan.record("ack", by);
        alert.since = now;
        delete alert.called;
      } else if (alert.state === "acked" && action.untilAt !== undefined && action.untilAt !== before?.until) {
        // A person who names a time has the alert from now on, for that long.
        plan.record("ack", by, `until ${new Date(action.untilAt).toISOString()}`);
        alert.since = now;
      } else if (!plan.move("ack", by)) {
        // Acknowledged already: the first acknowledgement holds.
        if (before) alert.ack = before;
        else delete alert.ack;
        return;
      }
      delete alert.snooze;
      delete alert.woken;
      restart(alert);
      return;
    }
    case "assign":
      assign(plan, by);
      return;
    case "snooze": {
      if (alert.snooze?.until === action.until) return;
      resumeAfterSnooze(alert, now);
      alert.snooze = { by: by.name, byId: by.id, at: now, until: action.until };
      delete alert.woken;
      plan.move("snooze", by, `until ${new Date(action.until).toISOString()}`);
      return;
    }
    case "wake":
      if (alert.snooze === undefined) return;
      resumeAfterSnooze(alert, now);
      delete alert.snooze;
      plan.move("wake", by);
      return;
    case "resolve":
      plan.move("resolve", by, action.reason);
      alert.endedAt = now;
      return;
    case "escalate":
      if ((action.expected ?? alert.steps) === alert.steps) alert.escalateNow = by;
      return;
    case "extend":
      plan.record("extend", by, action.reason);
      return;
    case "note":
      alert.notes = [...alert.notes, { by: by.name, at: now, text: action.text }].slice(-MAX_NOTES);
      plan.record("note", by, action.text);
      return;
  }
}

function assign(plan: Plan, by: Actor): void {
  const { alert } = plan;
  if (alert.assignee?.id === by.id) return;
  alert.assignee = { id: by.id, name: by.name };
  plan.record("assign", by, `taken by ${by.name}`);
}
