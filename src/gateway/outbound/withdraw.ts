/** Cancels a delivery that waits for its platform, because what it says is not needed any more. */
import { queueOf } from "../../domain/outbox-queue.js";
import { reportFailed } from "./report-failed.js";
import type { Outbound } from "./sending.js";

/** False when a part of it was sent, or is being sent. */
export async function withdraw(deliveryId: string, reason: string, out: Outbound): Promise<boolean> {
  const { store, registry, clock, observe } = out;
  const now = clock.now();
  if (!(await store.outbox.withdraw(deliveryId, reason, now, registry.isHeard("delivery_failed")))) return false;
  const delivery = await store.outbox.get(deliveryId);
  if (delivery === undefined) return true;
  observe.deliverySettled?.(delivery.address.platform, "cancelled", now - delivery.createdAt, delivery.cause);
  reportFailed(delivery, reason, out);
  out.look(queueOf(delivery));
  return true;
}

/** The store refuses to go on with it: it was withdrawn while hooks decided about it, or just before it was to be sent. */
export async function wasWithdrawn(deliveryId: string, { store }: Outbound): Promise<boolean> {
  return (await store.outbox.get(deliveryId))?.status === "cancelled";
}
