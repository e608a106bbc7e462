/** What an event tells about a conversation: who said, changed or took back what, and what became of it. For SLA clocks. */
import { addressOf, type DeletedEvent, type InboundEvent, type ReactionEvent } from "../../domain/event.js";
import type { InboundMessage } from "../../domain/message.js";
import type { ConversationSight } from "../../domain/sla.js";
import type { Handling } from "./handling.js";
import { judge } from "./judge.js";
import type { LaneRow } from "./lanes.js";
import { afterMove, causeId, type Inbound, messageAddress } from "./receiving.js";

type Settled = Extract<Handling, { kind: "settled" }>;

/** None when it says nothing about a conversation (a command, a press on a button). */
export function sightsOf(row: LaneRow, handled: Settled, inbound: Inbound): ConversationSight[] {
  // A move is told with the id that the chat had.
  if (row.event.kind === "moved") return [moved(row, row.event)];
  const event = afterMove(row.event, inbound);
  switch (event.kind) {
    case "message":
      return [said(row, event.message, handled, inbound)];
    case "edited":
      return [{ ...base(row, event), kind: "edited", ...facts(event.message, inbound) }];
    case "deleted":
      return deleted(row, event, handled);
    case "reaction": {
      const role = inbound.identify(event.address.platform, event.userId);
      return [
        { ...base(row, event), ...change(event), kind: "reacted", emoji: event.emoji, ...(role ? { role } : {}) },
      ];
    }
    default:
      return [];
  }
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
  return { messageId, at, ...(userId === undefined ? {} : { userId }) };
}

function moved(row: LaneRow, event: Extract<InboundEvent, { kind: "moved" }>): ConversationSight {
  const { toChatId, at } = event;
  return { ...base(row, event), kind: "moved", messageId: "", at, toChatId };
}

function said(row: LaneRow, message: InboundMessage, handled: Settled, inbound: Inbound): ConversationSight {
  const { outcome, claimedBy, deliveries } = handled;
  // Whoever claims a message to pass it on has not answered it: somebody else is to.
  const isPassedOn = outcome !== "returned" && deliveries.some(({ cause }) => cause.kind === "forward");
  const isAnswered = deliveries.some(({ cause, operation }) => cause.kind === "reply" && operation === "send");
  const returned = outcome === "returned" ? deliveries[0] : undefined;
  return {
    id: causeId(row),
    address: messageAddress(message),
    kind: "said",
    ...facts(message, inbound),
    outcome,
    ...(claimedBy === undefined || isPassedOn ? {} : { claimedBy }),
    ...(isAnswered && !isPassedOn ? { isAnswered } : {}),
    // Through a bridge: it was said where the customer is. Its id there is not known yet; its delivery's is.
    ...(returned ? { address: returned.address, messageId: returned.id } : {}),
  };
}

function facts(message: InboundMessage, inbound: Inbound) {
  const { operator, isBot } = judge(message, inbound);
  const { messageId, userId, text, isDm, guildId } = message;
  const { displayName: name, role } = operator;
  return {
    messageId,
    // What was written while we were away counts from then; a clock that is ahead of ours counts for nothing.
    at: Math.min(message.writtenAt ?? message.receivedAt, message.receivedAt),
    userId,
    text,
    isDm,
    ...(name === undefined ? {} : { name }),
    ...(role === undefined ? {} : { role }),
    ...(isBot ? { isBot } : {}),
    ...(guildId === undefined ? {} : { guildId }),
  };
}
