/** A press on an inline button, as an action. Pure. */
import type { ActionEvent } from "../../../src/domain/event.js";
import type { CallbackPayload } from "../payloads.js";
import { personOf, threadOf } from "./message.js";
import type { Around } from "./self.js";

/**
 * Undefined for a button that is no button of ours: on an inline message, or one that starts a game. There is no
 * `interaction`: Telegram cannot answer one person in place, so private answers take the way of `privateAddress`.
 */
export function decodePress(payload: CallbackPayload, { self, receivedAt, raw }: Around): ActionEvent | undefined {
  const { id, from, message, data } = payload;
  if (!message || data === undefined) return undefined;
  const isDm = message.chat.type === "private";
  const threadId = threadOf(message);
  return {
    kind: "action",
    eventId: `interaction:${id}`,
    message: {
      platform: "telegram",
      botId: self.botId,
      chatId: String(message.chat.id),
      ...(threadId === undefined ? {} : { threadId }),
      ...personOf(from),
      text: "",
      attachments: [],
      isDm,
      isGroupMention: !isDm,
      messageId: String(message.message_id),
      isEdit: false,
      receivedAt,
      raw,
    },
    token: data,
  };
}
