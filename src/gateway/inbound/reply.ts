/** Turns a reply of a hook or a route into a delivery in the same conversation. */

import { hasRole, type Role } from "../../domain/chat/identity.js";
import type { InboundMessage, OutboundMessage } from "../../domain/chat/message.js";
import { saysNothing } from "../../domain/chat/says-nothing.js";
import { REPLY_MARK } from "../../domain/journal.js";
import type { NewDelivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { causeOf, type Inbound, messageAddress, newDelivery, referenceTo } from "./receiving.js";
import { senderOf } from "./sender.js";

/** Undefined for an empty reply. In a group the answer points at its question, unless it points elsewhere already. */
export function reply(
  row: LaneRow,
  message: InboundMessage,
  content: OutboundMessage | string,
  inbound: Inbound,
  mark = REPLY_MARK,
): NewDelivery[] {
  const answer: OutboundMessage = typeof content === "string" ? { text: content } : content;
  if (saysNothing(answer)) return [];
  const delivery = newDelivery(
    row,
    mark,
    {
      address: messageAddress(message),
      operation: "send",
      message:
        answer.replyToId === undefined && !message.isDm ? { ...answer, replyToId: referenceTo(row, message) } : answer,
      cause: causeOf(row, "reply"),
    },
    inbound,
  );
  const { role } = senderOf(message, inbound).operator;
  const isAsked = inbound.config.unanswered_note && (message.isDm || message.isGroupMention);
  const whenGivenUp = isNotified(message, role, inbound) ? undefined : true;
  if (mark === REPLY_MARK && isAsked) delivery.answers = { role, author: message.userId, whenGivenUp };
  return [delivery];
}

/**
 * A person who gets a note when no hook answers gets one when the message is given up: a person with a role; in rooms, an operator who
 * mentioned the gateway.
 */
export function isNotified(message: InboundMessage, role: Role | undefined, inbound: Inbound): boolean {
  if (role === undefined || !inbound.config.unanswered_note) return false;
  return message.isDm || (message.isGroupMention && hasRole(role, "operator"));
}
