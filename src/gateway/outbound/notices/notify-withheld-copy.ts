/**
 * A hook cancelled the copy of a customer's message, or of its correction: its author is notified, and so is the place of the copies.
 * Neither notice shows the message or the reason, which may quote it.
 */
import { type Address, formatAddress } from "../../../domain/chat/address.js";
import type { InboundMessage } from "../../../domain/chat/message.js";
import { withheldNoteIds } from "../../../domain/deliveries/given-up.js";
import { queueOf } from "../../../domain/deliveries/outbox-queue.js";
import type { Delivery, NewDelivery } from "../../../domain/store.js";
import { escapeMarkdown } from "../../../lib/markdown/escape.js";
import { shownName } from "../../../lib/text/person-name.js";
import { takesCopies } from "../../complete-address.js";
import type { Outbound } from "../sending.js";
import { privately } from "./notify-asker.js";

/** A bridge of two rooms has no side that reads for customers: nothing is shown there. */
export async function notifyOfWithheldCopy(copy: Delivery, out: Outbound): Promise<void> {
  const { mirrors, answers, address } = copy;
  const cause = { ...copy.cause, kind: "command" as const };
  // An author who is one of us has the notice of an answer.
  if (!mirrors || answers !== undefined) return;
  const event = (await out.store.inbox.find(mirrors.address, mirrors.messageId))?.event;
  if (event === undefined || !("message" in event) || event.message.isBot) return;
  if (!event.message.isDm && !takesCopies(address, out)) return;
  const now = out.clock.now();
  const own = {
    operation: "send" as const,
    cause,
    expiresAt: now + out.config.ttl,
    isCourtesy: true,
    skipsHooks: true,
  };
  const notices: NewDelivery[] = [
    { ...own, ...forAuthor(copy, event.message, mirrors.address, out) },
    { ...own, ...(await forReaders(copy, event.message, mirrors.address, out)) },
  ];
  await out.store.outbox.enqueue(notices, now);
  for (const notice of notices) out.wake(queueOf(notice));
}

type Facts = Pick<NewDelivery, "id" | "address" | "message" | "visibleTo" | "openly">;

function forAuthor(copy: Delivery, { userId, messageId }: InboundMessage, at: Address, out: Outbound): Facts {
  const address = privately(at, userId, out);
  const isElsewhere = formatAddress(address) !== formatAddress(at);
  const isEdit = copy.operation === "edit";
  const what = isEdit ? "correction of your message" : "message";
  const before = isEdit ? "The text before the correction may still be shown to them. " : "";
  const again = isEdit ? "correct it again" : "write it again";
  const next = `If it contains a password, a key or something else that must stay private, ${again} without that.`;
  const text = `**${isEdit ? "The" : "Your"} ${what} was not passed on to the operators: a rule withheld it.**\n${before}${next}`;
  const openText = `This ${isEdit ? "correction" : "message"} was not passed on to the operators: a rule withheld it. ${next}`;
  return {
    id: withheldNoteIds(copy.cause.id, copy.id).author,
    address,
    visibleTo: userId,
    message: isElsewhere ? { text } : { text, replyToId: messageId },
    openly: isElsewhere
      ? { address: at, message: { text: openText, replyToId: messageId }, isForEach: true }
      : undefined,
  };
}

async function forReaders(copy: Delivery, message: InboundMessage, at: Address, out: Outbound): Promise<Facts> {
  const { id, address, targetId, cause } = copy;
  const target = targetId === undefined ? undefined : await out.store.outbox.get(targetId);
  const replyToId = target?.parts.find((part) => part.messageId !== undefined)?.messageId;
  const author = escapeMarkdown(message.displayName ?? message.username ?? message.userId);
  const room = message.isDm ? "" : ` in ${escapeMarkdown(shownName(out.offers.placeName(at) ?? "") ?? "a room")}`;
  const text = `A ${targetId === undefined ? "message" : "correction"} of ${author}${room} was not shown here: a hook withheld it. \`/outbox show ${id}\` has the details.`;
  return { id: withheldNoteIds(cause.id, id).readers, address, message: { text, replyToId } };
}
