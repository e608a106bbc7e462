/** A Discord message as an InboundMessage. Pure. */
import type { Attachment, InboundMessage } from "../../../src/domain/chat/message.js";
import { isWebAddress } from "../../../src/lib/web-address.js";
import { snowflakeTime } from "../snowflake.js";
import type { AttachmentPayload, MessagePayload, StickerPayload } from "./payloads.js";

/** Who we are, for telling our own words and mentions of us from others'. */
export interface Self {
  botId: string;
  applicationId: string;
  botName: string;
}

export interface Surroundings {
  self: Self;
  /** The channel that a thread hangs under. */
  parentChatId?: string | undefined;
  /** Our own managed role in this guild: people pick it instead of the account, and mean us. */
  ownRoleId?: string | undefined;
  receivedAt: number;
  raw?: unknown;
}

/** The types of messages that people write: ordinary, reply, use of a command. Joins, pins, boosts and the like are no messages. */
const WRITTEN_TYPES: ReadonlySet<number> = new Set([0, 19, 20, 23]);
const FORWARD = 1;

/** False for messages that no person wrote and for our own. */
export function isForUs(payload: MessagePayload, self: Self): boolean {
  return (
    WRITTEN_TYPES.has(payload.type) &&
    payload.author.id !== self.botId &&
    (payload.webhook_id === undefined || payload.webhook_id !== self.applicationId)
  );
}

export function decodeMessage(payload: MessagePayload, around: Surroundings, isEdit: boolean): InboundMessage {
  const { author, member, message_reference: reference } = payload;
  const isForward = reference?.type === FORWARD;
  const replied = isForward ? undefined : payload.referenced_message;
  const replyToUserId = replied?.author.id;
  const displayName = member?.nick ?? author.global_name ?? undefined;
  const attachments = decodeAttachments(payload);
  const message: InboundMessage = {
    platform: "discord",
    botId: around.self.botId,
    chatId: payload.channel_id,
    userId: author.id,
    username: author.username,
    text: textOf(payload, around),
    attachments,
    isDm: payload.guild_id === undefined,
    isGroupMention: payload.guild_id !== undefined && isAddressedToUs(payload, around, replyToUserId),
    messageId: payload.id,
    isEdit,
    receivedAt: around.receivedAt,
    writtenAt: writtenAt(payload, isEdit),
  };
  const mentioned = mentionedIn(message.text, payload);
  if (mentioned) message.mentioned = mentioned;
  if (payload.guild_id !== undefined) message.guildId = payload.guild_id;
  if (around.parentChatId !== undefined) message.parentChatId = around.parentChatId;
  if (displayName !== undefined) message.displayName = displayName;
  if (member) message.userRoleIds = member.roles;
  if (author.bot || payload.webhook_id !== undefined) message.isBot = true;
  if (!isForward && reference?.message_id !== undefined) message.replyToId = reference.message_id;
  if (replyToUserId !== undefined) message.replyToUserId = replyToUserId;
  if (replied && replyToUserId === around.self.botId)
    message.replyToOwn = { text: replied.content, writtenAt: snowflakeTime(replied.id) };
  if (around.raw !== undefined) message.raw = around.raw;
  return message;
}

function writtenAt({ id, edited_timestamp: editedAt }: MessagePayload, isEdit: boolean): number {
  return (isEdit && editedAt ? Date.parse(editedAt) : Number.NaN) || snowflakeTime(id);
}

function isAddressedToUs(payload: MessagePayload, around: Surroundings, replyToUserId: string | undefined): boolean {
  return (
    replyToUserId === around.self.botId ||
    (payload.mentions?.some((mention) => mention.id === around.self.botId) ?? false) ||
    (around.ownRoleId !== undefined && (payload.mention_roles?.includes(around.ownRoleId) ?? false))
  );
}

/** The words, without a leading mention of us; a forward gives the words it forwards, a poll its question and answers. */
function textOf(payload: MessagePayload, around: Surroundings): string {
  const own = withoutMention(payload.content, around);
  if (own !== "") return own;
  const forwarded = (payload.message_snapshots ?? []).map(({ message }) => message.content ?? "").filter(Boolean);
  if (forwarded.length > 0) return forwarded.join("\n\n");
  return payload.poll ? pollText(payload.poll) : "";
}

function pollText({ question, answers = [] }: NonNullable<MessagePayload["poll"]>): string {
  const lines = answers.map(({ poll_media: { emoji, text } }) => [emoji?.name, text].filter(Boolean).join(" "));
  return [`[poll] ${question.text ?? ""}`, ...lines.filter((line) => line !== "").map((line) => `- ${line}`)].join(
    "\n",
  );
}

/** The people whom the text names by id: an answer's payload lists the author of the question as well. Undefined when there are none. */
function mentionedIn(text: string, { mentions = [] }: MessagePayload): InboundMessage["mentioned"] {
  const named = mentions.flatMap(({ id, global_name, username }) => {
    const name = global_name ?? username;
    const isInText = text.includes(`<@${id}>`) || text.includes(`<@!${id}>`);
    return name === undefined || !isInText ? [] : [{ id, name }];
  });
  return named.length > 0 ? named : undefined;
}

function withoutMention(content: string, { self, ownRoleId }: Surroundings): string {
  if (!content.startsWith("<@")) return content;
  for (const mention of [`<@${self.botId}>`, `<@!${self.botId}>`, ...(ownRoleId ? [`<@&${ownRoleId}>`] : [])])
    if (content.startsWith(mention)) return content.slice(mention.length).trimStart();
  return content;
}

function decodeAttachments(payload: MessagePayload): Attachment[] {
  const forwarded = payload.message_snapshots?.flatMap(({ message }) => message.attachments ?? []) ?? [];
  const files = payload.attachments ?? [];
  if (files.length === 0 && forwarded.length === 0 && !payload.sticker_items) return [];
  return [...[...files, ...forwarded].map(decodeFile), ...(payload.sticker_items ?? []).map(decodeSticker)];
}

function decodeFile(file: AttachmentPayload): Attachment {
  const mimeType = file.content_type ?? "application/octet-stream";
  const family = mimeType.split("/", 1)[0];
  return {
    type: family === "image" || family === "audio" || family === "video" ? family : "file",
    ref: file.id,
    // Another address is none of Discord: the gateway reads `file:` from its own disk.
    url: isWebAddress(file.url) ? file.url : "",
    mimeType,
    filename: file.filename,
    sizeBytes: file.size,
  };
}

/** Format 3 is Lottie (JSON), 4 GIF, the others PNG. https://discord.com/developers/docs/resources/sticker */
function decodeSticker(sticker: StickerPayload): Attachment {
  const [suffix, mimeType] =
    sticker.format_type === 3
      ? ["json", "application/json"]
      : sticker.format_type === 4
        ? ["gif", "image/gif"]
        : ["png", "image/png"];
  const isImage = mimeType !== "application/json";
  return {
    type: isImage ? "image" : "file",
    ref: sticker.id,
    url: `https://${isImage ? "media.discordapp.net" : "cdn.discordapp.com"}/stickers/${sticker.id}.${suffix}`,
    mimeType,
    filename: `${sticker.name}.${suffix}`,
  };
}
