/**
 * Cancels a delivery that is not needed any more and of which nothing was sent, or the rest of one that is partly sent. Notifies no author: the
 * gateway calls `withdrawAnswer` and `cancelRestOfAnswer` of `retract.ts`, which call these and show the author the end.
 */
import { queueOf } from "../../domain/deliveries/outbox-queue.js";
import type { CancelledRest, Delivery } from "../../domain/store.js";
import { reportFailed } from "./notices/report-failed.js";
import type { Outbound } from "./sending.js";

/** False when a part of it was sent, or is being sent. `besideSent`: only when a part is being sent, or its id is not known. */
export async function withdraw(
  deliveryId: string,
  reason: string,
  out: Outbound,
  besideSent = false,
): Promise<boolean> {
  const { store, registry, clock } = out;
  const hasHooks = registry.isHeard("delivery_failed");
  if (!(await store.outbox.withdraw(deliveryId, reason, clock.now(), hasHooks, besideSent))) return false;
  await cancelled(deliveryId, out);
  return true;
}

/** An operator ends a delivery that may be partly sent: no further part of it goes. Undefined when it is not open any more. */
export async function cancelRest(id: string, reason: string, out: Outbound): Promise<CancelledRest | undefined> {
  const { store, registry, clock } = out;
  const rest = await store.outbox.cancelRest(id, reason, clock.now(), registry.isHeard("delivery_failed"));
  if (rest) await cancelled(id, out);
  return rest;
}

/** The cancellation is on disk: hooks are notified, and the queue of the delivery goes on. */
async function cancelled(deliveryId: string, out: Outbound): Promise<void> {
  const { store, clock, observe } = out;
  const delivery = await store.outbox.get(deliveryId);
  if (delivery === undefined) return;
  const { address, createdAt, cause, reason = "" } = delivery;
  observe.deliverySettled?.(address.platform, "cancelled", clock.now() - createdAt, cause);
  reportFailed(delivery, reason, out);
  out.wake(queueOf(delivery));
}

/** The store refuses to go on with it: it was withdrawn or corrected while hooks decided about it, or just before it was to be sent. */
export async function wasChanged({ id, round }: Delivery, { store }: Outbound): Promise<boolean> {
  const now = await store.outbox.get(id);
  return now !== undefined && (now.status === "cancelled" || now.round !== round);
}
