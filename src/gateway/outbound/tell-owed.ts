/** What hooks are owed since the process before. The journal knows what it came to, up to its last moments. */
import type { Delivery } from "../../domain/store.js";
import { dispatchIdOf } from "./hook-target.js";
import { reportFailed } from "./report-failed.js";
import { tellSent } from "./report-sent.js";
import type { Outbound } from "./sending.js";

export async function tellOwed(deliveries: readonly Delivery[], out: Outbound): Promise<void> {
  for (const delivery of deliveries) {
    const point = delivery.status === "sent" ? "message_sent" : "delivery_failed";
    if ((await out.store.journal.get(dispatchIdOf(delivery, point))) !== undefined) out.owed.settle(delivery.id);
    else if (delivery.status === "sent") tellSent(delivery, out);
    else if (delivery.status === "dead" || delivery.status === "cancelled")
      reportFailed(delivery, delivery.reason ?? "", out);
    // Released since, by an operator: its next end is told.
    else out.owed.settle(delivery.id);
    if (out.background.isCrowded) await out.background.oneDone();
  }
}
