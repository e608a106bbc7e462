/** A silence or a maintenance window keeps an alert quiet. Its end during one is still shown, in the chats that have the alert. */
import { isOpen } from "../../domain/alerts/alert.js";
import type { Alerting } from "../alerting.js";
import { labelsOf } from "../matchers.js";
import { type Plan, RULE } from "../plan.js";

export function silence(plan: Plan, { silences }: Alerting): void {
  const { alert, now } = plan;
  if (!isOpen(alert.state)) return;
  const found = silences.find(labelsOf(alert), now);
  if (found !== undefined) {
    if (plan.move("silence", RULE, `${found.id}: ${found.comment}${found.by ? ` (${found.by})` : ""}`))
      alert.quietBy = found.id;
    plan.lookAgainAt(found.until);
  } else if (alert.state === "silenced") {
    delete alert.quietBy;
    plan.move("unsilence", RULE, "the silence ended");
  }
}
