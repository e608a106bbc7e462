/** Turns what a hook or a route wants said into a delivery in the same conversation. */
import type { InboundMessage, OutboundMessage } from "../../domain/message.js";
import type { NewDelivery } from "../../domain/store.js";
import { isBlank } from "../../lib/markdown/clean.js";
import type { LaneRow } from "./lanes.js";
import { causeOf, type Inbound, messageAddress, newDelivery } from "./receiving.js";

/** None for a reply that says nothing. In a group the answer points at its question, unless it points elsewhere already. */
export function reply(
  row: LaneRow,
  message: InboundMessage,
  said: OutboundMessage | string,
  inbound: Inbound,
  mark = "r",
): NewDelivery[] {
  const answer: OutboundMessage = typeof said === "string" ? { text: said } : said;
  if (isNothing(answer)) return [];
  const delivery = newDelivery(
    row,
    mark,
    {
      address: messageAddress(message),
      operation: "send",
      message: answer.replyToId === undefined && !message.isDm ? { ...answer, replyToId: message.messageId } : answer,
      cause: causeOf(row, "reply"),
    },
    inbound,
  );
  return [delivery];
}

function isNothing({ text, card, attachments = [], buttons = [] }: OutboundMessage): boolean {
  return isBlank(text) && card === undefined && attachments.length === 0 && buttons.length === 0;
}
