/** An open alert has the severity that its policy has now: it may have changed since the policy announced the alert. */
import { isOpen } from "../../domain/alerts/alert.js";
import type { Alerting } from "../alerting.js";
import { type Plan, RULE } from "../plan.js";

export function severity(plan: Plan, { policy }: Pick<Alerting, "policy">): void {
  const { alert, was, isNew } = plan;
  const now = policy?.(alert.signal.source.policyId)?.severity?.[alert.condition === "firing" ? "violated" : "warning"];
  if (!isOpen(alert.state) || now === undefined || now === alert.severity) return;
  alert.severity = now;
  if (!isNew && now !== was.severity) plan.record("severity", RULE, `${was.severity} to ${now}, by its policy`);
}
