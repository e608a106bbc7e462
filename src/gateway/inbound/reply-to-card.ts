/** A reply to a message of ours, or a message in the thread under it: for the part that the message belongs to, such as a task's card. */
import type { Operator } from "../../domain/chat/identity.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import type { Delivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { type Handling, settled } from "./handling.js";
import { answeredBy, asWritten, causeId, type Inbound } from "./receiving.js";
import { reply } from "./reply.js";

/** Undefined when it is a message like any other. */
export async function replyToCard(
  row: LaneRow,
  message: InboundMessage,
  operator: Operator,
  inbound: Inbound,
): Promise<Handling | undefined> {
  if (inbound.repliedTo === undefined) return undefined;
  const to = await answeredTo(asWritten(row, message), inbound);
  const answer = to && (await inbound.repliedTo(message, to, operator, causeId(row)));
  return answer && settled("reply", reply(row, message, answer, inbound));
}

async function answeredTo(message: InboundMessage, { store }: Inbound): Promise<Delivery | undefined> {
  for (const [at, messageId] of answeredBy(message)) {
    const found = await store.outbox.findByMessage(at, messageId);
    if (found) return found;
  }
  return undefined;
}
