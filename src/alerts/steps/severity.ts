/** An open alert has the severity that its policy has now: it may have changed since the policy announced the alert. A change by its source alone is in its history, too. */
import { isOpen } from "../../domain/alerts/alert.js";
import type { Alerting } from "../alerting.js";
import { type Plan, RULE } from "../plan.js";
import { sourceOf } from "./fingerprint.js";

export function severity(plan: Plan, { policy }: Pick<Alerting, "policy">): void {
  const { alert, was, isNew } = plan;
  const now = policy?.(alert.signal.source.policyId)?.severity?.[alert.condition === "firing" ? "violated" : "warning"];
  if (!isOpen(alert.state)) return;
  const isByPolicy = now !== undefined && now !== alert.severity;
  if (isByPolicy) alert.severity = now;
  if (isNew || alert.severity === was.severity) return;
  const change = `${was.severity} to ${alert.severity}`;
  if (isByPolicy) plan.record("severity", RULE, `${change}, by its policy`);
  else if (plan.events.length === 0) plan.record("severity", sourceOf(alert.signal), change);
}
