/** The ways a delivery ends without being sent, and who is told. */
import type { Delivery } from "../../domain/store.js";
import { fireOptions, hookTarget } from "./hook-target.js";
import type { Outbound, Then } from "./sending.js";

type Ending = "held" | "suppressed" | "cancelled" | "superseded" | "dead" | "sent";

/** Settles it under this status. `delivery_failed` tells of what was given up or cancelled; held is not given up. */
export async function finish(delivery: Delivery, ending: Ending, reason: string, out: Outbound): Promise<Then> {
  const isGivenUp = ending === "dead" || ending === "held";
  const status = delivery.isCourtesy && isGivenUp ? "cancelled" : ending;
  const now = out.clock.now();
  await out.store.outbox.finish(delivery.id, status, reason, now);
  out.observe.deliverySettled?.(delivery.address.platform, status, now - delivery.createdAt);
  if (status === "held" || status === "dead")
    out.logger.warn(
      { delivery: delivery.id, conversation: delivery.conversation, status, reason },
      "delivery not sent",
    );
  if (status === "dead" || status === "cancelled") {
    const message = delivery.frozen ?? delivery.message;
    const payload = {
      ...hookTarget(delivery),
      ...(message ? { message } : {}),
      error: reason,
      attempts: delivery.attempts,
    };
    out.background.run(
      "delivery_failed",
      out.registry.fireVoid(
        "delivery_failed",
        payload,
        undefined,
        fireOptions(delivery, "delivery_failed", out.startedAt),
      ),
    );
  }
  return "next";
}
