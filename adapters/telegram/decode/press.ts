/** A press on an inline button, as an action. Pure. */
import type { ActionEvent } from "../../../src/domain/chat/event.js";
import type { CallbackPayload } from "../payloads.js";
import { personOf, threadOf } from "./message.js";
import type { Around } from "./self.js";

/**
 * How long a press can be answered. Telegram names no time and refuses late answers itself: this only spares the attempt.
 * https://core.telegram.org/bots/api#answercallbackquery
 */
const ANSWERABLE_MS = 60_000;

/**
 * Undefined for a button that is no button of ours: on an inline message, or one that starts a game. The answer to the press can
 * show its person a short word that others do not see; anything longer takes the way of `privateAddress`.
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
      threadId,
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
    interaction: { id, token: id, expiresAt: receivedAt + ANSWERABLE_MS, isPrivate: true, isNotice: true },
  };
}
