/** Shows what an event means for a conversation: who wrote, changed or deleted what, and how it ended. For SLA clocks. */

import type { ConversationSight } from "../../domain/alerts/sla.js";
import { addressOf, type DeletedEvent, type InboundEvent, type ReactionEvent } from "../../domain/chat/event.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import type { NewDelivery } from "../../domain/store.js";
import { takesCopies } from "../complete-address.js";
import type { LaneRow } from "../conversation.js";
import type { Handling } from "./handling.js";
import { afterMove, causeId, type Inbound, messageAddress } from "./receiving.js";
import { senderOf } from "./sender.js";

type Settled = Extract<Handling, { kind: "settled" }>;

/** Undefined when it shows nothing about a conversation (a command, a press on a button). */
export function sightsOf(row: LaneRow, handled: Settled, inbound: Inbound): ConversationSight[] {
  // A move is reported with the id that the chat had.
  if (row.event.kind === "moved") return [moved(row, row.event)];
  const event = afterMove(row.event, inbound);
  switch (event.kind) {
    case "message":
      // A message that returns through a bridge counts where the customer is, and only when it is sent there.
      return handled.outcome === "returned" ? [] : [said(row, event.message, handled, inbound)];
    case "edited":
      // The message has an owner code in it, which nothing may show.
      if (handled.outcome === "command") return [];
      return [{ ...base(row, event), kind: "edited", ...facts(event.message, inbound) }];
    case "deleted":
      return deleted(row, event, handled);
    case "reaction": {
      const role = inbound.identify(event.address.platform, event.userId);
      return [{ ...base(row, event), ...change(event), kind: "reacted", emoji: event.emoji, role }];
    }
    default:
      return [];
  }
}

/** A copy at another address: that of one of us answers the customer there when it is sent, and not when a hook withholds it. */
export function withCopySight(row: LaneRow, message: InboundMessage, copy: NewDelivery, inbound: Inbound): NewDelivery {
  if (!inbound.watch?.isWanted()) return copy;
  // A correction is the same answer; it counts when it is posted first.
  const { id, address, targetId: messageId = id } = copy;
  const sight: ConversationSight = {
    ...facts(message, inbound),
    id: `${causeId(row)}:${messageId}`,
    address,
    kind: "said",
    copiedFrom: message.platform,
    messageId,
    inboxId: row.id,
  };
  return { ...copy, sight };
}

/** The reply of a claim or of a plugin's route: it answers the customer when it is sent, and not when a hook withholds it. */
export function withReplySight(row: LaneRow, replies: readonly NewDelivery[], inbound: Inbound): NewDelivery[] {
  const { event } = row;
  if (!inbound.watch?.isWanted() || !("message" in event)) return [...replies];
  return replies.map((reply) => {
    const { id: messageId, address } = reply;
    const id = `${causeId(row)}:${messageId}`;
    const sight: ConversationSight = {
      id,
      address,
      kind: "said",
      messageId,
      at: inbound.clock.now(),
      replyTo: event.message.messageId,
      inboxId: row.id,
    };
    return { ...reply, sight };
  });
}

/** Also where its copies are: an answer through a bridge is taken back where the customer is. */
function deleted(row: LaneRow, event: DeletedEvent, { deliveries }: Settled): ConversationSight[] {
  const here: ConversationSight = { ...base(row, event), ...change(event), kind: "deleted" };
  const there = deliveries.flatMap(({ id, address, targetId }): ConversationSight[] =>
    targetId === undefined ? [] : [{ ...here, id: `${here.id}:${id}`, address, messageId: targetId }],
  );
  return [here, ...there];
}

const base = (row: LaneRow, event: InboundEvent) => ({ id: causeId(row), address: addressOf(event) });

function change({ messageId, at, userId }: DeletedEvent | ReactionEvent) {
  return { messageId, at, userId };
}

function moved(row: LaneRow, event: Extract<InboundEvent, { kind: "moved" }>): ConversationSight {
  const { toChatId, at } = event;
  return { ...base(row, event), kind: "moved", messageId: "", at, toChatId };
}

function said(row: LaneRow, message: InboundMessage, handled: Settled, inbound: Inbound): ConversationSight {
  const { outcome, claimedBy, deliveries } = handled;
  // A hook that claims a message to pass it on has not answered it: another person is to answer.
  const isPassedOn = deliveries.some(({ cause }) => cause.kind === "forward");
  // The reply ends the wait when it is sent: a hook may withhold it.
  const isReplied = deliveries.some(({ sight }) => sight?.replyTo !== undefined);
  return {
    id: causeId(row),
    address: messageAddress(message),
    kind: "said",
    ...facts(message, inbound),
    inboxId: row.id,
    outcome,
    claimedBy: isPassedOn || isReplied ? undefined : claimedBy,
    // A reply to a message of ours is no customer's; nor is a message where the copies go.
    isInternal: outcome === "reply" || takesCopies(messageAddress(message), inbound) || undefined,
  };
}

function facts(message: InboundMessage, inbound: Inbound) {
  const { operator, isBot } = senderOf(message, inbound);
  const { messageId, userId, text, isDm, guildId } = message;
  const { displayName: name, role } = operator;
  return {
    messageId,
    // A message that was written while we were away counts from its own time; a clock that is ahead of ours counts for nothing.
    at: Math.min(message.writtenAt ?? message.receivedAt, message.receivedAt),
    userId,
    text,
    isDm,
    name,
    role,
    isBot: isBot || undefined,
    guildId,
  };
}
