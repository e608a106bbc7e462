/**
 * The original of a copy was deleted or corrected, or an operator ends it: the part of the copy that was not posted follows, and so does
 * its author's notice.
 */
import {
  DELETED_BEFORE,
  isUnanswered,
  mayBePosted,
  mayHaveHidden,
  OLD_PART_LEFT,
  saysInDoubt,
} from "../../domain/deliveries/given-up.js";
import { queueOf } from "../../domain/deliveries/outbox-queue.js";
import { type CancelledRest, type Corrected, type Delivery, isUnderWay } from "../../domain/store.js";
import { showEnd } from "./notices/answer-notices.js";
import { hold, lastDoubtOf } from "./send/doubt.js";
import type { Outbound } from "./sending.js";
import { cancelRest, withdraw } from "./withdraw.js";

/** Edits that are looked through; more than a person makes of one message. */
const MAX_EDITS = 100;

/**
 * The original of this copy was deleted: a part that was not tried yet, or certainly not posted, is never sent. True when nothing is left
 * to delete.
 */
export async function retract(copyId: string, out: Outbound): Promise<boolean> {
  const { outbox } = out.store;
  await cancelUnposted(copyId, out);
  // A correction is posted in place of a message that was not.
  const changes = await outbox.list({ targetId: copyId, limit: MAX_EDITS });
  for (const { id, operation } of changes) if (operation === "edit") await cancelUnposted(id, out);
  const left = await Promise.all([copyId, ...changes.map(({ id }) => id)].map((id) => outbox.get(id)));
  const isNothingLeft = left.every((delivery) => delivery === undefined || isNowhere(delivery));
  if (isNothingLeft)
    for (const delivery of left) if (delivery) await showEnd(delivery, "cancelled", DELETED_BEFORE, out);
  return isNothingLeft;
}

export async function cancelUnposted(id: string, out: Outbound): Promise<void> {
  const { outbox } = out.store;
  const delivery = await outbox.get(id);
  if (delivery === undefined) return;
  if (isUnderWay(delivery)) {
    // A delivery in doubt ends in its own queue, where no request runs beside it.
    if (!(await withdraw(id, DELETED_BEFORE, out, true))) out.wake(queueOf(delivery));
  }
  // A delivery that may have been posted is decided on when a person has seen whether it was. A correction that is shown was sent.
  else if (["dead", "held"].includes(delivery.status) && delivery.reason !== OLD_PART_LEFT && !mayHaveHidden(delivery))
    await outbox.finish(id, "cancelled", DELETED_BEFORE, out.clock.now());
}

/** A deletion of the original that its lane has not reached yet counts, too. */
export async function isOriginalDeleted({ operation, mirrors }: Delivery, { store }: Outbound): Promise<boolean> {
  if (mirrors === undefined || operation === "delete") return false;
  return (await store.inbox.find(mirrors.address, `delete:${mirrors.messageId}`)) !== undefined;
}

/**
 * A copy, or a correction of one, is about to be sent, or a part of it is, for the first time or again. True: its original was deleted, and
 * no more of it is sent.
 */
export async function retractIfDeleted(delivery: Delivery, out: Outbound): Promise<boolean> {
  // A part that is certainly posted is stored first.
  if (out.unsaved.size > 0 && delivery.parts.some(({ nonce }) => out.unsaved.has(nonce))) return false;
  if (!(await isOriginalDeleted(delivery, out))) return false;
  await retract(delivery.targetId ?? delivery.id, out);
  const left = await out.store.outbox.get(delivery.id);
  if (left === undefined || !isUnderWay(left)) return true;
  const doubtful = left.parts.find(mayBePosted);
  if (doubtful) await hold(left, doubtful, `${lastDoubtOf(left)}, and ${DELETED_SINCE}`, out);
  else await cancelRest(left.id, DELETED_BEFORE, out);
  return true;
}

const DELETED_SINCE = "its author deleted it before the request could be repeated";

/** Like `withdraw`; the author is notified. */
export async function withdrawAnswer(id: string, reason: string, out: Outbound): Promise<boolean> {
  const isDone = await withdraw(id, reason, out);
  if (isDone) await showCancelled(id, out);
  return isDone;
}

/** Like `cancelRest`; the author is notified. */
export async function cancelRestOfAnswer(
  id: string,
  reason: string,
  out: Outbound,
): Promise<CancelledRest | undefined> {
  const rest = await cancelRest(id, reason, out);
  if (rest) await showCancelled(id, out);
  return rest;
}

async function showCancelled(id: string, out: Outbound): Promise<void> {
  const delivery = await out.store.outbox.get(id);
  if (delivery) await showEnd(delivery, "cancelled", delivery.reason ?? "", out);
}

/**
 * The original of this copy was corrected. False: it may be posted already, or an earlier correction follows it, so this one has to
 * follow, too.
 */
export async function correct(copyId: string, corrected: Corrected, out: Outbound): Promise<boolean> {
  const { outbox } = out.store;
  if ((await outbox.list({ targetId: copyId, limit: 1 })).length > 0) return false;
  if (!(await outbox.correct(copyId, corrected))) return false;
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
