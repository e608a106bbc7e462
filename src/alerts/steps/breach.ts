/** A warning that breaks is posted as a new message: its card is only edited, which notifies no one. It is the first notice of the breach. */
import type { Alerting } from "../alerting.js";
import type { Plan } from "../plan.js";
import { isAtLeast } from "../quiet-hours.js";
import { quietEnd } from "./quiet-hours.js";

const LOUD = "high";

export function breach(plan: Plan, alerting: Pick<Alerting, "config">): void {
  const { alert, now, told, notices } = plan;
  const hasBroken = !plan.isNew && plan.events.some(({ event }) => event === "fire" || event === "reopen");
  if (!hasBroken || alert.state !== "firing" || !isAtLeast(alert.severity, LOUD)) return;
  const there = new Set(told.filter(({ cardId }) => cardId !== undefined).map(({ destination }) => destination));
  for (const destination of plan.destinations) {
    // An escalation at the same moment is a new message already, and so is a card that is not posted yet.
    const isPosted = notices.some((notice) => notice.destination === destination);
    if (!there.has(destination) || isPosted || quietEnd(plan, destination, alerting) !== undefined) continue;
    const text = alert.signal.clock === undefined ? "It fires now" : "Overdue now";
    const key = `breach:${alert.firedAt ?? now}`;
    notices.push({ alertId: alert.id, destination, kind: "reminder", key, text, mentions: [], dueAt: now });
  }
}
