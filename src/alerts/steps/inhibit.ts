/** An alert is kept quiet while another alert that explains it is open. */
import { isOpen } from "../../domain/alerts/alert.js";
import type { Alerting } from "../alerting.js";
import { labelsOf } from "../matchers.js";
import { type Plan, RULE } from "../plan.js";

export function inhibit(plan: Plan, { inhibitors }: Alerting): void {
  const { alert } = plan;
  if (!isOpen(alert.state)) return;
  const by = inhibitors.find(labelsOf(alert));
  if (by !== undefined && plan.move("inhibit", RULE, `${by} explains it`)) alert.quietBy = by;
  else if (by === undefined && alert.state === "inhibited") {
    delete alert.quietBy;
    plan.move("release", RULE, "the alert that explained it ended");
  }
}
