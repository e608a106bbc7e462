/**
 * A person changes a message after an operator deleted it, or its copy, from the queues: nothing of that is passed on, and its author is
 * notified.
 */

import type { InboundMessage } from "../../domain/chat/message.js";
import { goneNoteId, isUntold, isWithdrawn, saysInDoubt } from "../../domain/deliveries/given-up.js";
import { purgeFinder } from "../../domain/deliveries/purges.js";
import { copyId } from "../../domain/journal.js";
import { type Delivery, isUnderWay, type NewDelivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { authorNote, isAnswerOf } from "./given-up.js";
import { type Inbound, messageAddress } from "./receiving.js";
import { isNotified } from "./reply.js";
import { senderOf } from "./sender.js";

/** Changes of a copy that are looked through; more than a person makes. */
const MAX_CHANGES = 100;

/** Once for each message; of a deletion only when the copy may be shown. For a message that has no copy any more. */
export async function goneNotes(
  row: LaneRow,
  message: InboundMessage,
  change: "edited" | "deleted",
  inbound: Inbound,
): Promise<NewDelivery[]> {
  const { inbox } = inbound.store;
  const at = messageAddress(message);
  const original = await inbox.find(at, message.messageId);
  const rowId = original?.id ?? (await inbox.formerId(at, message.messageId));
  if (rowId === undefined) return [];
  const goneId = original ? copyId({ id: rowId }) : `m${rowId}`;
  if (original && !original.deliveryIds?.includes(goneId)) return [];
  const { role } = senderOf(message, inbound).operator;
  const isAnswer = await isAnswerOf(message, role, inbound);
  if (!isAnswer && !(original ? role !== undefined : isNotified(message, role, inbound))) return [];
  const findPurge = purgeFinder(inbound);
  const copy = original && (await inbound.store.outbox.get(goneId));
  const isCancelled = copy !== undefined && isWithdrawn(copy);
  if (!isCancelled && (await findPurge(goneId, 0)) === undefined) return [];
  // A correction may have posted it.
  const corrections = (await inbox.changesOf(at, message.messageId)).flatMap(({ deliveryIds = [] }) => deliveryIds);
  const purges = await Promise.all([goneId, ...corrections].map((id) => findPurge(id, 0)));
  const reasons = [copy?.reason, ...purges.map((purge) => purge?.was?.reason)];
  const mayBeShown = reasons.some((reason) => saysInDoubt(reason) || isUntold(reason));
  if (change === "deleted" && !mayBeShown) return [];
  const notice = authorNote(row, message, { text: textFor(change, mayBeShown, isCancelled), isAnswer: true }, inbound);
  return [{ ...notice, id: goneNoteId(rowId, change) }];
}

/** An operator cancelled this copy before anything of it was shown: a correction of it would post it after all. */
export async function isCancelledUnshown(copy: Delivery, { store }: Inbound): Promise<boolean> {
  if (!isWithdrawn(copy) || copy.parts.some(({ status }) => status === "sent")) return false;
  const changes = await store.outbox.list({ targetId: copy.id, limit: MAX_CHANGES });
  return !changes.some((one) => one.status === "sent" || one.status === "held" || isUnderWay(one));
}

function textFor(change: "edited" | "deleted", mayBeShown: boolean, isCancelled: boolean): string {
  if (change === "deleted")
    return "**The deletion of your message was not passed on: an operator deleted the message from the outbox.**\nIt is not known whether the message was posted: its copy may still be shown.";
  const did = isCancelled ? "cancelled the message" : "deleted the message from the outbox";
  const what = `**The correction of your message was not passed on: an operator ${did}.**`;
  return mayBeShown
    ? `${what}\nIt is not known whether the message was posted: the text before the correction may still be shown. Later corrections are not passed on.`
    : `${what}\nLater corrections are not passed on. To answer, write another message.`;
}
