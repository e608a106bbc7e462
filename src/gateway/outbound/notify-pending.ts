/** Notifies hooks of ends that are pending since an earlier process. The journal has what that process did, up to its last moments. */
import type { Delivery } from "../../domain/store.js";
import { MAX_ASKED } from "./decide.js";
import { dispatchIdOf } from "./hook-target.js";
import { reportFailed } from "./report-failed.js";
import { tellSent } from "./report-sent.js";
import type { Outbound } from "./sending.js";

export async function notifyPending(deliveries: readonly Delivery[], out: Outbound): Promise<void> {
  for (const delivery of deliveries) {
    const point = delivery.status === "sent" ? "message_sent" : "delivery_failed";
    const isEnded = delivery.status === "sent" || delivery.status === "dead" || delivery.status === "cancelled";
    const recorded = await out.store.journal.get(dispatchIdOf(delivery, point));
    const isTold = recorded !== undefined && recorded.outcome !== "interrupted";
    // Released since, by an operator: its next end is told.
    if (!isEnded || isTold) {
      out.pendingEnds.settle(delivery.id);
      continue;
    }
    if (delivery.told >= MAX_ASKED) {
      out.logger.error(
        { delivery: delivery.id, point, told: delivery.told },
        "the gateway ended each time that hooks were notified of the end of a delivery: they are not notified of it again",
      );
      out.pendingEnds.settle(delivery.id);
      continue;
    }
    delivery.told = await out.store.outbox.telling(delivery.id);
    if (delivery.status === "sent") tellSent(delivery, out);
    else reportFailed(delivery, delivery.reason ?? "", out);
    if (out.background.isCrowded) await out.background.oneDone();
  }
}
