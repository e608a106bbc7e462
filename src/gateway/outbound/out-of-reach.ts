/** A message from before its chat moved: the platform numbers the messages of the new chat afresh, so its id is another message's there. */
import type { OutboundMessage } from "../../domain/chat/message.js";
import type { Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

export const OUT_OF_REACH = "the message is from before its chat moved, so it cannot be changed any more";

export function noteOutOfReach({ id, conversation, operation }: Delivery, { logger }: Outbound): void {
  const what =
    operation === "delete"
      ? "a message from before its chat moved cannot be deleted; it stays"
      : "a message from before its chat moved cannot be edited; its new text is posted as a message";
  logger.warn({ delivery: id, conversation }, what);
}

export function withoutReference({ replyToId: _, ...message }: OutboundMessage): OutboundMessage {
  return message;
}
