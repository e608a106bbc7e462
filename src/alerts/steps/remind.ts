/** Says again what nobody acknowledges, as new messages: an edited card pings nobody. */
import { formatDuration } from "../../lib/duration.js";
import type { Alerting } from "../alerting.js";
import { CLOCK, type Plan } from "../plan.js";
import { isAtLeast } from "../quiet-hours.js";
import { quietEnd } from "./quiet-hours.js";
import type { Route } from "./route.js";

export function remind(plan: Plan, [route]: readonly Route[], alerting: Pick<Alerting, "config">): void {
  const { alert, now } = plan;
  const settings = route?.settings.remind;
  const isWanted = settings !== undefined && alert.state === "firing" && isAtLeast(alert.severity, settings.at_least);
  if (!isWanted || plan.destinations.length === 0) {
    delete alert.remindAt;
    return;
  }
  if (alert.reminders >= settings.times) return;
  alert.remindAt ??= now + settings.every;
  if (now < alert.remindAt) {
    plan.lookAt(alert.remindAt);
    return;
  }
  alert.reminders++;
  const text = `Not acknowledged for ${formatDuration(now - (alert.firedAt ?? alert.raisedAt))} (reminder ${alert.reminders} of ${settings.times})`;
  for (const destination of plan.destinations) {
    if (quietEnd(plan, destination, alerting) !== undefined) continue;
    const key = `reminder:${alert.remindAt}`;
    plan.notices.push({ alertId: alert.id, destination, kind: "reminder", key, text, mentions: [], dueAt: now });
  }
  plan.record("remind", CLOCK, `${alert.reminders} of ${settings.times}`);
  // From now, not from when it was due: after a long stop there is one, not one for each that was missed.
  alert.remindAt = now + settings.every;
  if (alert.reminders < settings.times) plan.lookAt(alert.remindAt);
}
