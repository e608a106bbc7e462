/**
 * The events of a stored chat row. Everything in them derives from the row, so that a row offered again after
 * a crash gives the same event ids and the inbox recognises them.
 */
import type { InboundEvent, InteractionRef } from "../../src/domain/chat/event.js";
import type { InboundMessage } from "../../src/domain/chat/message.js";
import type { WebChatMessage } from "../../src/domain/store.js";
import { DAY_MS } from "../../src/lib/time/duration.js";
import { type RowBody, readBody } from "./body.js";

export const PLATFORM = "web";
/** The web chat has one account, ourselves. */
export const BOT_ID = "web";
/** An answer in place is possible for as long as the chat exists; to a person "live" means a day. */
const INTERACTION_LIFE_MS = DAY_MS;

export interface RowFacts {
  isDm: boolean;
  /** Writer of the message it replies to. */
  replyTo?: WebChatMessage;
  gatewayName: string;
}

export function messageOf(row: WebChatMessage, facts: RowFacts): InboundMessage {
  const body = readBody(row);
  const repliesToUs = facts.replyTo !== undefined && facts.replyTo.userId === undefined;
  return {
    platform: PLATFORM,
    botId: BOT_ID,
    chatId: row.roomId,
    threadId: row.threadId,
    userId: row.userId ?? "",
    displayName: row.userName,
    text: facts.isDm ? row.text : withoutMention(row.text, facts.gatewayName),
    attachments: body.attachments ?? [],
    replyToId: row.replyToId === undefined ? undefined : String(row.replyToId),
    replyToUserId: facts.replyTo && (facts.replyTo.userId ?? BOT_ID),
    isDm: facts.isDm,
    isGroupMention: !facts.isDm && (repliesToUs || row.text.startsWith("/") || mentions(row.text, facts.gatewayName)),
    messageId: String(row.id),
    isEdit: false,
    receivedAt: row.at,
    writtenBy: body.writtenBy,
  };
}

/** `@name` as a word of its own, in any case. Names are word characters and `-`. */
function mentions(text: string, name: string): boolean {
  return new RegExp(`(^|[^\\w@])@${name}(?![\\w-])`, "i").test(text);
}

/** The words, without a leading mention of us. */
function withoutMention(text: string, name: string): string {
  return text.replace(new RegExp(`^\\s*@${name}(?![\\w-])[\\s,:]*`, "i"), "");
}

/** The event of the row itself: a message, or a command given with named options. */
export function createdEvent(row: WebChatMessage, facts: RowFacts): InboundEvent {
  const message = messageOf(row, facts);
  const { command } = readBody(row);
  if (!command) return { kind: "message", eventId: message.messageId, message };
  return {
    kind: "command",
    eventId: message.messageId,
    message,
    name: command.name,
    options: command.options,
    interaction: interactionOf(`command:${row.id}`, message.userId, row.at),
  };
}

export function editedEvent(row: WebChatMessage, facts: RowFacts): InboundEvent {
  const editedAt = row.editedAt ?? row.at;
  const message = { ...messageOf(row, facts), isEdit: true, receivedAt: editedAt };
  return { kind: "edited", eventId: `edit:${row.id}:${editedAt}`, message };
}

export function deletedEvent(row: WebChatMessage): InboundEvent {
  return {
    kind: "deleted",
    eventId: `delete:${row.id}`,
    address: addressOfRow(row),
    messageId: String(row.id),
    userId: row.userId,
    at: row.deletedAt ?? row.at,
    writtenBy: readBody(row).writtenBy,
  };
}

export function reactionEvent(
  row: WebChatMessage,
  reaction: NonNullable<RowBody["reactions"]>[number],
  isDm: boolean,
): InboundEvent {
  return {
    kind: "reaction",
    eventId: `reaction:${row.id}:${reaction.userId}:${reaction.emoji}:${reaction.at}`,
    address: addressOfRow(row),
    messageId: String(row.id),
    userId: reaction.userId,
    emoji: reaction.emoji,
    isDm,
    at: reaction.at,
    writtenBy: reaction.writtenBy,
  };
}

/** The interaction's token is the person, whom a private answer is shown to. */
export function interactionOf(id: string, personId: string, at: number): InteractionRef {
  return { id, token: personId, expiresAt: at + INTERACTION_LIFE_MS, isPrivate: false };
}

export function addressOfRow(row: { roomId: string; threadId?: string | undefined }) {
  return {
    platform: PLATFORM,
    botId: BOT_ID,
    chatId: row.roomId,
    threadId: row.threadId,
  };
}
