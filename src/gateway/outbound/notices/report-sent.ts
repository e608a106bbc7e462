/** The platform confirmed everything: message_sent, with all ids. Nothing waits for its hooks. */
import type { Delivery } from "../../../domain/store.js";
import { isolate } from "../../../fast/isolate.js";
import { fireOptions, withTarget } from "../hook-target.js";
import type { Outbound } from "../sending.js";

/** A promise when there is so much in the background that the caller should wait. */
export function reportSent(delivery: Delivery, out: Outbound): Promise<void> | undefined {
  const latencyMs = out.clock.now() - delivery.createdAt;
  out.observe.deliverySettled?.(delivery.address.platform, "sent", latencyMs, delivery.cause);
  if (delivery.sight) out.watch?.seen({ ...delivery.sight, address: delivery.address });
  fireSent(delivery, out);
  return out.background.isCrowded ? out.background.oneDone() : undefined;
}

/** `attempt` and `ended`: of pending work. Without them this is the first time. */
export function fireSent(delivery: Delivery, out: Outbound, attempt = 1, ended?: () => void): void {
  const message = delivery.frozen ?? delivery.message;
  if (!firesSent(delivery) || !message) {
    ended?.();
    return;
  }
  const messageIds: string[] = [];
  for (const { operation, messageId } of delivery.parts)
    if (operation !== "delete" && messageId !== undefined) messageIds.push(messageId);
  const payload = withTarget({ messageId: messageIds[0] ?? "", messageIds, message: isolate(message) }, delivery, out);
  const options = fireOptions(delivery, "message_sent", attempt);
  const fired = out.registry.fireVoid("message_sent", payload, undefined, options);
  const isHeard = out.registry.isHeard("message_sent");
  out.background.run("message_sent", fired, ended ?? (isHeard ? () => out.endNotified(delivery.id) : undefined));
}

/** Not for a deletion. */
export const firesSent = ({ operation }: Pick<Delivery, "operation">) => operation !== "delete";
