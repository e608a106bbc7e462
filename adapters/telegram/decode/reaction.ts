/** Reactions that a person added: one event each. A reaction that was taken away is no event. Pure. */
import type { ReactionEvent } from "../../../src/domain/chat/event.js";
import type { MessageReactionPayload, ReactionPayload } from "../payloads.js";
import type { Around } from "./self.js";

export function decodeReactions(payload: MessageReactionPayload, { self, receivedAt }: Around): ReactionEvent[] {
  const { chat, message_id: id, user, actor_chat: actor, date, old_reaction: before, new_reaction: after } = payload;
  const userId = String(user?.id ?? actor?.id ?? "");
  if (userId === "" || userId === self.botId) return [];
  const had = new Set(before.map(nameOf));
  const added = after.map(nameOf).filter((emoji) => !had.has(emoji));
  return added.map((emoji) => ({
    kind: "reaction",
    eventId: `reaction:${id}:${userId}:${date}:${emoji}`,
    address: { platform: "telegram", botId: self.botId, chatId: String(chat.id) },
    messageId: String(id),
    userId,
    emoji,
    isDm: chat.type === "private",
    at: receivedAt,
  }));
}

function nameOf({ type, emoji, custom_emoji_id: custom }: ReactionPayload): string {
  return emoji ?? (custom === undefined ? type : `custom:${custom}`);
}
