/**
 * A warning that breaks, and an alert whose snooze ended, are posted as a new message: their card is only edited, which notifies no
 * one. It is the first notice of the breach, and may be the only one after a snooze.
 */
import type { Alerting } from "../alerting.js";
import { CLOCK, type Plan } from "../plan.js";
import { isAtLeast } from "../quiet-hours.js";
import { quietEnd } from "./quiet-hours.js";

const LOUD = "high";

export function breach(plan: Plan, alerting: Pick<Alerting, "config">): void {
  const { alert, now, told, notices } = plan;
  const what = alert.state === "firing" ? noticeOf(plan) : undefined;
  if (what === undefined) return;
  const there = new Set(told.filter(({ cardId }) => cardId !== undefined).map(({ destination }) => destination));
  for (const destination of plan.destinations) {
    // An escalation at the same moment is a new message already, and so is a card that is not posted yet.
    const isPosted = notices.some((notice) => notice.destination === destination);
    if (!there.has(destination) || isPosted || quietEnd(plan, destination, alerting) !== undefined) continue;
    notices.push({ alertId: alert.id, destination, kind: "reminder", ...what, mentions: [], dueAt: now });
  }
}

function noticeOf({ alert, now, isNew, events }: Plan): { key: string; text: string } | undefined {
  // The person who wakes an alert knows that it is awake.
  if (events.some(({ event, actor }) => event === "wake" && actor === CLOCK))
    return { key: `wake:${now}`, text: "The snooze ended" };
  const hasBroken = !isNew && events.some(({ event }) => event === "fire" || event === "reopen");
  if (!hasBroken || !isAtLeast(alert.severity, LOUD)) return undefined;
  const text = alert.signal.clock === undefined ? "It fires now" : "Overdue now";
  return { key: `breach:${alert.firedAt ?? now}`, text };
}
