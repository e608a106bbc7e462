/** No message of any sender is longer than `MAX_CHARACTERS`. After the hooks, because a hook may have made it long. */
import { charactersOf, MAX_CHARACTERS, shortenMessage } from "../../domain/long-message.js";
import type { OutboundMessage } from "../../domain/message.js";
import type { Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

export function shorten(delivery: Delivery, message: OutboundMessage, { logger }: Outbound): OutboundMessage {
  const short = shortenMessage(message);
  if (short !== message)
    logger.warn(
      { delivery: delivery.id, conversation: delivery.conversation, characters: charactersOf(message) },
      `a message was shortened to ${MAX_CHARACTERS.toLocaleString("en-US")} characters; send longer texts as a file`,
    );
  return short;
}
