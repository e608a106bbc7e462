/** The platform confirmed everything: message_sent, with all ids. Nobody waits for its hooks. */
import type { Delivery } from "../../domain/store.js";
import { fireOptions, hookTarget } from "./hook-target.js";
import type { Outbound } from "./sending.js";

export async function reportSent(delivery: Delivery, out: Outbound): Promise<void> {
  out.observe.deliverySettled?.(delivery.address.platform, "sent", out.clock.now() - delivery.createdAt);
  const message = delivery.frozen ?? delivery.message;
  if (delivery.operation === "delete" || !message) return;
  const messageIds: string[] = [];
  for (const { operation, messageId } of delivery.parts)
    if (operation !== "delete" && messageId !== undefined) messageIds.push(messageId);
  const payload = { ...hookTarget(delivery), messageId: messageIds[0] ?? "", messageIds, message };
  out.background.run(
    "message_sent",
    out.registry.fireVoid("message_sent", payload, undefined, fireOptions(delivery, "message_sent", out.startedAt)),
  );
  if (out.background.isCrowded) await out.background.oneDone();
}
