/** `run: chat`: says something at one or more addresses, through the outbox. */
import type { Handler } from "../../handler.js";
import { type ChatOptions, chatOptions } from "./options.js";

export const chatHandler: Handler<ChatOptions> = {
  name: "chat",
  summary: "Sends a message or a card to chats.",
  options: chatOptions,
  async run() {
    return { kind: "failed", error: "not yet", isRetryable: false };
  },
};
