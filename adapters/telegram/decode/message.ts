/** A Telegram message as an `InboundMessage`. Pure. */
import type { InboundMessage } from "../../../src/domain/chat/message.js";
import type { MessagePayload, UserPayload } from "../payloads.js";
import { readAddressing } from "./addressing.js";
import { attachmentsOf } from "./attachments.js";
import type { Around } from "./self.js";

/** Undefined for messages that no person wrote: service messages, our own messages. */
export function decodeMessage(payload: MessagePayload, { self, receivedAt, raw }: Around): InboundMessage | undefined {
  const attachments = attachmentsOf(payload);
  const words = payload.text ?? payload.caption ?? describeContent(payload);
  if (words === undefined && attachments.length === 0) return undefined;
  const author = authorOf(payload);
  if (!author || author.userId === self.botId) return undefined;
  const isDm = payload.chat.type === "private";
  const reply = replyOf(payload);
  const entities = payload.text === undefined ? payload.caption_entities : payload.entities;
  const addressing = readAddressing(words ?? "", entities ?? [], self);
  const isReplyToUs = reply?.userId === self.botId && !addressing.isForAnotherBot;
  const threadId = threadOf(payload);
  return {
    platform: "telegram",
    botId: self.botId,
    chatId: String(payload.chat.id),
    threadId,
    ...author,
    text: addressing.text,
    // Marks that people type become entities before they are sent: marks that are left are meant as they are.
    format: "plain",
    attachments,
    replyToId: reply?.messageId,
    replyToUserId: reply?.userId,
    replyToOwn: reply?.userId === self.botId ? reply.shown : undefined,
    isDm,
    isGroupMention: !isDm && (addressing.isForUs || isReplyToUs),
    messageId: String(payload.message_id),
    isEdit: false,
    receivedAt,
    // Seconds.
    writtenAt: (payload.edit_date ?? payload.date) * 1000,
    raw,
  };
}

/** A topic's id. In plain supergroups `message_thread_id` only marks a reply chain, and General (1) has none on a send. */
export function threadOf(payload: Pick<MessagePayload, "message_thread_id" | "is_topic_message">): string | undefined {
  const { message_thread_id: id, is_topic_message: isTopic } = payload;
  return isTopic === true && id !== undefined && id !== 1 ? String(id) : undefined;
}

type Author = Pick<InboundMessage, "userId" | "username" | "displayName" | "isBot">;

/**
 * Who speaks for a chat (an anonymous admin, a channel) has the chat's id: the account that Telegram names as sender is
 * shared by everybody who does so, and must never be anybody's identity. A channel's posts in its group come by themselves.
 */
function authorOf({ from, sender_chat: chat, is_automatic_forward: isAutomatic }: MessagePayload): Author | undefined {
  if (chat)
    return {
      userId: String(chat.id),
      username: chat.username,
      displayName: chat.title,
      isBot: isAutomatic || undefined,
    };
  return from ? personOf(from) : undefined;
}

export function personOf(user: UserPayload): Author {
  const displayName = [user.first_name, user.last_name].filter(Boolean).join(" ");
  return {
    userId: String(user.id),
    username: user.username,
    displayName: displayName === "" ? undefined : displayName,
    isBot: user.is_bot || undefined,
  };
}

interface Replied {
  messageId: string;
  userId: string | undefined;
  shown: InboundMessage["replyToOwn"];
}

/** In a topic, Telegram gives a message without a reply as a reply to the message that opened the topic. */
function replyOf(payload: MessagePayload): Replied | undefined {
  const replied = payload.reply_to_message;
  if (!replied || replied.forum_topic_created !== undefined) return undefined;
  if (payload.is_topic_message === true && replied.message_id === payload.message_thread_id) return undefined;
  const { message_id: id, sender_chat: chat, from, text, caption, date = 0 } = replied;
  const userId = chat?.id ?? from?.id;
  return {
    messageId: String(id),
    userId: userId === undefined ? undefined : String(userId),
    shown: { text: text ?? caption ?? "", writtenAt: date * 1000 },
  };
}

/** The content of a message without text, in words: nothing that a person sent is dropped. A sticker means its emoji. */
function describeContent(payload: MessagePayload): string | undefined {
  const { venue, location, contact, poll, dice, sticker, checklist, game, story, paid_media: paid } = payload;
  if (venue)
    return `[place] ${venue.title}, ${venue.address} (${venue.location.latitude}, ${venue.location.longitude})`;
  if (location) return `[place] ${location.latitude}, ${location.longitude}`;
  if (contact)
    return `[contact] ${[contact.first_name, contact.last_name].filter(Boolean).join(" ")} ${contact.phone_number}`;
  if (poll) return `[poll] ${poll.question}\n${poll.options.map(({ text }) => `- ${text}`).join("\n")}`;
  if (dice) return `[dice] ${dice.emoji} ${dice.value}`;
  if (sticker) return sticker.emoji ? `[sticker] ${sticker.emoji}` : "[sticker]";
  if (checklist) return `[checklist] ${checklist.title}\n${checklist.tasks.map(({ text }) => `- ${text}`).join("\n")}`;
  if (game) return `[game] ${game.title}`;
  if (story !== undefined) return "[story]";
  if (paid !== undefined) return "[paid media]";
  return undefined;
}
