/**
 * Handles changes that people make to messages: edits, deletions, reactions. Hooks are notified; copies at the other end of a bridge
 * follow.
 */
import type { Address } from "../../domain/chat/address.js";
import {
  addressOf,
  type DeletedEvent,
  type EditedEvent,
  type MovedEvent,
  type ReactionEvent,
} from "../../domain/chat/event.js";
import type { Role } from "../../domain/chat/identity.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import { type Delivery, isUnderWay, type NewDelivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { recordMove } from "../outbound/follow-move.js";
import { decideAccess, type Verdict } from "../people/access.js";
import { copiesOf, correctedCopy, LOST, originOf, withAddressing } from "./forward.js";
import { goneNotes, isCancelledUnshown } from "./gone-original.js";
import { type Handling, settled } from "./handling.js";
import { missedCorrectionNotes } from "./offer.js";
import { voidCode, withheldCode } from "./owner-code.js";
import { causeOf, fireOptions, type Inbound, messageAddress, newDelivery } from "./receiving.js";
import { placeOf, senderOf } from "./sender.js";
import { withCopySight } from "./sights-of.js";
import { emptyAnswer } from "./unanswered.js";

export async function noteEdit(row: LaneRow, event: EditedEvent, inbound: Inbound): Promise<Handling> {
  await changeDead(event, inbound);
  const origin = await originOf(event.message, inbound);
  const message = withAddressing(event.message, origin);
  const { verdict, isBot, operator } = senderOf(message, inbound);
  const at = messageAddress(message);
  voidCode(row, message, inbound);
  await inbound.registry.fireVoid(
    "message_edited",
    { message, ...verdict },
    undefined,
    fireOptions(row, "message_edited", message.messageId, verdict),
  );
  if (isBot) return settled("noted");
  const kept = withheldCode(row, message, inbound);
  if (kept) return kept;
  const copies: Delivery[] = [];
  for (const copy of await copiesOf(at, message.messageId, inbound))
    if (!(await isCancelledUnshown(copy, inbound))) copies.push(copy);
  const empty =
    copies.length > 0 && origin && origin !== LOST && (await emptyAnswer(row, message, operator, origin, inbound));
  if (empty) return empty;
  const edits: NewDelivery[] = [];
  for (const [i, copy] of copies.entries()) {
    const corrected = await correctedCopy(row, message, copy, inbound);
    if (await inbound.correct(copy.id, corrected)) continue;
    const facts = {
      address: copy.address,
      operation: "edit" as const,
      targetId: copy.id,
      // A correction waits for its copy alone: of a copy under way, in the queue of the chat; of any other, in a queue of its own.
      isApart: isUnderWay(copy) ? undefined : true,
      ...corrected,
      cause: causeOf(row, "edit"),
      mirrors: { address: at, messageId: message.messageId },
      answers: notifiedOf(message, operator.role, copy),
    };
    edits.push(withCopySight(row, message, newDelivery(row, `e${i}`, facts, inbound), inbound));
  }
  if (copies.length === 0) {
    const gone = await goneNotes(row, message, "edited", inbound);
    return settled("noted", [...gone, ...(await missedCorrectionNotes(row, message, inbound))]);
  }
  return settled("forwarded", edits);
}

export async function noteDeletion(row: LaneRow, event: DeletedEvent, inbound: Inbound): Promise<Handling> {
  const { address, messageId, userId, at } = event;
  await changeDead(event, inbound);
  const message = await recall(address, messageId, { at }, inbound);
  const { verdict, role } = standingOf(message, inbound);
  await inbound.registry.fireVoid(
    "message_deleted",
    { message, address, messageId, at, ...verdict, userId },
    undefined,
    fireOptions(row, "message_deleted", messageId, verdict),
  );
  const posted = await inbound.store.outbox.findByMessage(address, messageId);
  if (posted) inbound.observe.ownMessageDeleted?.(posted.cause);
  const copies = await copiesOf(address, messageId, inbound);
  const removals: NewDelivery[] = [];
  for (const [i, copy] of copies.entries()) {
    if (await inbound.retract(copy.id)) continue;
    const left = await inbound.store.outbox.get(copy.id);
    const facts = {
      address: copy.address,
      operation: "delete" as const,
      targetId: copy.id,
      // Behind its copy, but not behind messages that may wait for the limit of the chat.
      urgency: left && isUnderWay(left) ? undefined : ("urgent" as const),
      cause: causeOf(row, "edit"),
      mirrors: { address, messageId },
      answers: notifiedOf(message, role, copy),
    };
    removals.push(newDelivery(row, `x${i}`, facts, inbound));
  }
  if (copies.length === 0) return settled("noted", await goneNotes(row, message, "deleted", inbound));
  return settled("forwarded", removals);
}

/**
 * A dead message is handled again as its author left it, or not at all. Before hooks are asked: a failing one does not keep the old
 * words.
 */
async function changeDead(
  change: EditedEvent | DeletedEvent,
  { store: { inbox }, clock }: Pick<Inbound, "store" | "clock">,
): Promise<void> {
  const { messageId } = change.kind === "edited" ? change.message : change;
  const row = await inbox.find(addressOf(change), messageId);
  if (row?.status !== "dead") return;
  if (change.kind === "deleted") await inbox.withdraw(row.id, clock.now());
  else if (row.event.kind === "message" && !row.isUnreadable) {
    const { text, format, mentioned, attachments, isGroupMention, raw } = change.message;
    const before = row.event.message;
    const words = { text, format, mentioned, attachments, raw };
    const message = { ...before, ...words, isGroupMention: before.isGroupMention || isGroupMention };
    await inbox.correct(row.id, { ...row.event, message });
  }
}

/** Applies changes that the author made to a dead message since, also those that still wait behind other messages of its chat. */
export async function followChanges(inboxId: number, deps: Pick<Inbound, "store" | "clock">): Promise<void> {
  const { inbox } = deps.store;
  const event = (await inbox.get(inboxId))?.event;
  if (event?.kind !== "message") return;
  for (const { event: change } of await inbox.changesOf(addressOf(event), event.eventId))
    if (change.kind === "edited" || change.kind === "deleted") await changeDead(change, deps);
}

export async function noteReaction(row: LaneRow, event: ReactionEvent, inbound: Inbound): Promise<Handling> {
  const { address, messageId, userId, emoji, isDm, guildId, at } = event;
  const message = await recall(address, messageId, { at, isDm, guildId }, inbound);
  const role = inbound.identify(address.platform, userId);
  const place = placeOf({ ...message, isDm, guildId: guildId ?? message.guildId }, inbound);
  const verdict = decideAccess(inbound.access[address.platform], place, role, undefined);
  await inbound.registry.fireVoid(
    "reaction_added",
    { message, address, messageId, userId, emoji, isDm, at, ...verdict },
    undefined,
    fireOptions(row, "reaction_added", messageId, verdict),
  );
  return settled("noted");
}

/**
 * The chat has another id: messages that wait for it go there, and the access lists hold for both. Before anything else of the new chat is
 * handled.
 */
export function noteMove({ address, toChatId }: MovedEvent, inbound: Inbound): Promise<void> {
  return recordMove(address, toChatId, inbound, inbound.wakeOutbox);
}

/** The message as the inbox or the outbox remembers it, else as the event has it. */
async function recall(
  address: Address,
  messageId: string,
  known: { at: number; isDm?: boolean; guildId?: string | undefined },
  { store, adapters }: Inbound,
): Promise<InboundMessage> {
  const row = await store.inbox.find(address, messageId);
  if (row && "message" in row.event) return row.event.message;
  const posted = await store.outbox.findByMessage(address, messageId);
  return {
    ...address,
    parentChatId: adapters.get(address.platform)?.traits.parentOf?.(address.chatId),
    guildId: known.guildId,
    userId: posted ? address.botId : "",
    isBot: posted ? true : undefined,
    text: (posted?.frozen ?? posted?.message)?.text ?? "",
    attachments: [],
    isDm: known.isDm ?? false,
    isGroupMention: false,
    messageId,
    isEdit: false,
    receivedAt: known.at,
  };
}

/**
 * The person who is notified of a failed change of a copy: the author of the message, with a role or notified of the copy, too. Undefined:
 * no one. A person with a role has to know that the copy still has the old text.
 */
function notifiedOf(
  { userId }: InboundMessage,
  role: Role | undefined,
  copy: Pick<Delivery, "answers">,
): NewDelivery["answers"] {
  return role === undefined && copy.answers === undefined ? undefined : { role, author: userId };
}

function standingOf(message: InboundMessage, inbound: Inbound): { verdict: Verdict; role: Role | undefined } {
  const role = inbound.identify(message.platform, message.userId, message.userRoleIds);
  return { verdict: decideAccess(inbound.access[message.platform], placeOf(message, inbound), role, undefined), role };
}
