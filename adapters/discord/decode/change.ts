/** Edits' identity, deletions and reactions as events. Pure. */
import type { DeletedEvent, ReactionEvent } from "../../../src/domain/chat/event.js";
import type { Self } from "./message.js";
import type { ReactionPayload } from "./payloads.js";

/** An update that carries an edit time was edited by its author; embeds, pins and flags change without one. */
export function editEventId(id: string, editedTimestamp: string): string {
  return `edit:${id}:${editedTimestamp}`;
}

export function decodeDeletion(id: string, channelId: string, self: Self, at: number): DeletedEvent {
  return {
    kind: "deleted",
    eventId: `delete:${id}`,
    address: { platform: "discord", botId: self.botId, chatId: channelId },
    messageId: id,
    at,
  };
}

/**
 * A reaction has no id of its own, and the same person may take it back and give it again: its place in the session
 * (`position`) distinguishes a second one from a replay of the first.
 */
export function decodeReaction(payload: ReactionPayload, self: Self, at: number, position: string): ReactionEvent {
  const name = payload.emoji.name ?? "";
  const emoji = payload.emoji.id ? `${name}:${payload.emoji.id}` : name;
  return {
    kind: "reaction",
    eventId: `reaction:${payload.message_id}:${payload.user_id}:${emoji}:${position}`,
    address: { platform: "discord", botId: self.botId, chatId: payload.channel_id },
    messageId: payload.message_id,
    userId: payload.user_id,
    emoji,
    isDm: payload.guild_id === undefined,
    guildId: payload.guild_id,
    at,
  };
}
