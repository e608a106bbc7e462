/** Cancels a delivery that waits for its platform, or changes what it says, because that is not needed any more. */
import { isAmbiguous, isInDoubt, isUnanswered, saysInDoubt, WITHDRAWN_BY } from "../../domain/given-up.js";
import type { OutboundMessage } from "../../domain/message.js";
import { queueOf } from "../../domain/outbox-queue.js";
import { type CancelledRest, type Delivery, isUnderWay } from "../../domain/store.js";
import { notifyAsker, passesOn } from "./notify-asker.js";
import { reportFailed } from "./report-failed.js";
import type { Outbound } from "./sending.js";

export const DELETED_BEFORE = "deleted before it was sent";

/** Edits that are looked through; more than a person makes of one message. */
const MAX_EDITS = 100;

/** The original of this copy was deleted: what was not tried yet, or certainly not posted, is never sent. True when nothing is left to delete. */
export async function retract(copyId: string, out: Outbound): Promise<boolean> {
  const { outbox } = out.store;
  await cancelUnposted(copyId, out);
  // A correction is posted in place of what was not.
  const changes = await outbox.list({ targetId: copyId, limit: MAX_EDITS });
  for (const { id, operation } of changes) if (operation === "edit") await cancelUnposted(id, out);
  const left = await Promise.all([copyId, ...changes.map(({ id }) => id)].map((id) => outbox.get(id)));
  return left.every((delivery) => delivery === undefined || isNowhere(delivery));
}

export async function cancelUnposted(id: string, out: Outbound): Promise<void> {
  const { outbox } = out.store;
  const delivery = await outbox.get(id);
  if (delivery === undefined) return;
  if (isUnderWay(delivery)) await withdraw(id, DELETED_BEFORE, out);
  // What may have been posted is decided on when a person has seen whether it was.
  else if (["dead", "held"].includes(delivery.status) && !isAmbiguous(delivery) && !isInDoubt(delivery))
    await outbox.finish(id, "cancelled", DELETED_BEFORE, out.clock.now());
}

/** The original of this copy was corrected. False: it may be posted already, or an earlier correction follows it, so this one has to follow, too. */
export async function correct(copyId: string, message: OutboundMessage, out: Outbound): Promise<boolean> {
  const { outbox } = out.store;
  if ((await outbox.list({ targetId: copyId, limit: 1 })).length > 0) return false;
  if (!(await outbox.correct(copyId, message))) return false;
  const copy = await outbox.get(copyId);
  if (copy) out.wake(queueOf(copy));
  return true;
}

const isNowhere = (delivery: Delivery): boolean =>
  !isUnderWay(delivery) &&
  delivery.status !== "sent" &&
  delivery.status !== "held" &&
  !saysInDoubt(delivery.reason) &&
  !delivery.parts.some((part) => part.status === "sent" || isUnanswered(part));

/** False when a part of it was sent, or is being sent. */
export async function withdraw(deliveryId: string, reason: string, out: Outbound): Promise<boolean> {
  const { store, registry, clock } = out;
  if (!(await store.outbox.withdraw(deliveryId, reason, clock.now(), registry.isHeard("delivery_failed"))))
    return false;
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

/** It is on disk: hooks are notified, and so is the person whose words an operator cancelled; its queue goes on. */
async function cancelled(deliveryId: string, out: Outbound): Promise<void> {
  const { store, clock, observe } = out;
  const delivery = await store.outbox.get(deliveryId);
  if (delivery === undefined) return;
  const { address, createdAt, cause, reason = "" } = delivery;
  observe.deliverySettled?.(address.platform, "cancelled", clock.now() - createdAt, cause);
  reportFailed(delivery, reason, out);
  if (passesOn(delivery) && reason.startsWith(WITHDRAWN_BY)) await notifyAsker(delivery, "cancelled", reason, out);
  out.wake(queueOf(delivery));
}

/** The store refuses to go on with it: it was withdrawn or corrected while hooks decided about it, or just before it was to be sent. */
export async function wasChanged({ id, round }: Delivery, { store }: Outbound): Promise<boolean> {
  const now = await store.outbox.get(id);
  return now !== undefined && (now.status === "cancelled" || now.round !== round);
}
