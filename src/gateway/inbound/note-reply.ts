/** A reply to a message of ours, or a message in the thread under it: for the part that the message belongs to, such as a task's card. */
import type { Address } from "../../domain/address.js";
import type { Operator } from "../../domain/identity.js";
import type { InboundMessage } from "../../domain/message.js";
import type { Delivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { type Handling, settled } from "./handling.js";
import { causeId, type Inbound } from "./receiving.js";
import { reply } from "./reply.js";

/** Undefined when it is a message like any other. */
export async function noteReply(
  row: LaneRow,
  message: InboundMessage,
  operator: Operator,
  inbound: Inbound,
): Promise<Handling | undefined> {
  if (inbound.repliedTo === undefined) return undefined;
  const to = await answeredTo(message, inbound);
  const said = to && (await inbound.repliedTo(message, to, operator, causeId(row)));
  return said && settled("reply", reply(row, message, said, inbound));
}

async function answeredTo(message: InboundMessage, { store }: Inbound): Promise<Delivery | undefined> {
  for (const [at, messageId] of placesOf(message)) {
    const found = await store.outbox.findByMessage(at, messageId);
    if (found) return found;
  }
  return undefined;
}

/** What it answers to; then what its thread hangs under, which is a message of the chat or, where threads are chats, of the parent. */
function placesOf({ platform, botId, chatId, threadId, parentChatId, replyToId }: InboundMessage): [Address, string][] {
  const chat = { platform, botId, chatId };
  const here = threadId === undefined ? chat : { ...chat, threadId };
  return [
    ...(replyToId === undefined ? [] : [[here, replyToId] as [Address, string]]),
    ...(threadId === undefined ? [] : [[chat, threadId] as [Address, string]]),
    ...(parentChatId === undefined ? [] : [[{ platform, botId, chatId: parentChatId }, chatId] as [Address, string]]),
  ];
}
