/** Whether a message shows nothing at all. */
import { isBlank } from "../../lib/markdown/clean.js";
import type { OutboundMessage } from "./message.js";

/** Nothing of the message can be seen: no text but white space and hidden characters, and no card, attachment or button. */
export function saysNothing(message: OutboundMessage | string): boolean {
  if (typeof message === "string") return isBlank(message);
  const { text, card, attachments = [], buttons = [] } = message;
  return isBlank(text) && card === undefined && attachments.length === 0 && buttons.length === 0;
}
