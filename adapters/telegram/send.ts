/** Makes one request to Telegram for one operation of the gateway. */
import type { GatewayPort, SendOperation, SendResult } from "../../src/domain/chat/adapter.js";
import type { Address } from "../../src/domain/chat/address.js";
import type { Attachment } from "../../src/domain/chat/message.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { LostFile } from "../../src/lib/files/lost-file.js";
import type { Logger } from "../../src/lib/logger.js";
import type { Destinations } from "../../src/lib/outgoing/destinations.js";
import type { Clock } from "../../src/lib/time/clock.js";
import { type PartBody, readBody } from "./body.js";
import { type Caller, UnusableAnswer } from "./caller.js";
import { withoutEntities } from "./encode.js";
import { describeFailure, isTokenRefused, isTokenWrong, readFailure } from "./errors.js";
import { type FileAccess, FileNotYet, type OutgoingFile, type OwnKind, unattached, withFile } from "./files.js";
import { CAPTION_MAX, TEXT_MAX } from "./format.js";
import { type Attempt, type Floods, NOT_MODIFIED, readOutcome } from "./outcome.js";

export interface SendContext {
  caller: Caller;
  floods: Floods;
  clock: Clock;
  uploadTimeoutMs: number;
  fileSilenceMs: number;
  maxFileBytes: number;
  /** Where the bytes of attachments may be fetched. */
  outgoing: Destinations;
  freshLink: GatewayPort["freshLink"];
  /** Telegram refused the token, and did so again when it was asked. */
  tokenRefused(thrown: unknown): void;
  logger: Logger;
}

/** https://core.telegram.org/bots/api#answercallbackquery */
const NOTICE_MAX = 200;

/** The topic is closed or gone, or the chat has none any more. */
const NO_TOPIC =
  /message thread not found|TOPIC_CLOSED|TOPIC_DELETED|TOPIC_ID_INVALID|invalid (topic|message thread) identifier|MESSAGE_THREAD_ID_INVALID|chat is not a forum|doesn't have (threads|topics)/i;
const NO_CAPTION = /caption is too long|CAPTION_TOO_LONG/i;
/** In the words of servers of several years; also refused where `allow_sending_without_reply` is set: a message of another topic. */
const NO_REPLY =
  /(message to be replied|replied message|reply message|message to reply) not found|(MESSAGE|MSG)_ID_INVALID|REPLY_TO_(USER_)?INVALID|QUOTE_TEXT_INVALID/i;
const NO_BUTTONS = /BUTTON_|keyboard button|REPLY_MARKUP_|reply markup is too long/i;
const NO_ENTITIES = /can't parse entit|entity beginning|ENTITY_/i;
const NO_TEXT = /there is no text in the message to edit/i;
/** Telegram's answer for a message that is older than 48 hours. https://core.telegram.org/bots/api#deletemessage */
const NO_DELETION = /message can't be deleted|MESSAGE_DELETE_FORBIDDEN/i;
/** The message is there, and neither its text nor its caption can change. */
const NO_EDIT = /message can't be edited|there is no caption in the message to edit/i;
/** The text in place of a message that cannot be deleted. */
const DELETED = "(deleted)";
const FILE_REMOVED = "[this file was removed from the message]";

type Create = Extract<SendOperation, { kind: "create" }>;
type Edit = Extract<SendOperation, { kind: "edit" }>;
type Delete = Extract<SendOperation, { kind: "delete" }>;

export async function send(context: SendContext, operation: SendOperation, signal: AbortSignal): Promise<SendResult> {
  try {
    switch (operation.kind) {
      case "create":
        return await create(context, operation, signal);
      case "edit":
        return await edit(context, operation, signal);
      case "delete":
        return await remove(context, operation, signal);
    }
  } catch (thrown) {
    if (thrown instanceof FileNotYet)
      return { kind: "retry", error: thrown.message, afterMs: thrown.afterMs, scope: "file" };
    const failure = readFailure(thrown);
    // The failure concerns one chat only, as long as the token is accepted elsewhere.
    if (isTokenRefused(failure)) {
      if (!(await isTokenWrong(context.caller, signal)))
        return { kind: "retry", error: describeFailure(failure), scope: "chat" };
      context.tokenRefused(thrown);
    }
    const attempt: Attempt = { kind: operation.kind, chatId: operation.address.chatId };
    if (operation.kind !== "delete") attempt.hasFile = operation.part.body.file !== undefined;
    if (operation.kind !== "create") attempt.messageId = operation.messageId;
    return readOutcome(thrown, attempt, context.floods, context.clock.monotonic());
  }
}

async function create(
  context: SendContext,
  { address, part, interaction, isLastAttempt, fetch }: Create,
  signal: AbortSignal,
): Promise<SendResult> {
  const body = readBody(part.body);
  if (interaction) return notice(context, interaction, body, signal);
  let to = address;
  let left = body;
  let lost: LostFile | undefined;
  for (;;) {
    try {
      return without(lost, await post(context, to, left, { signal, isLastAttempt, fetch }));
    } catch (thrown) {
      // Refused, so nothing was posted. Each way out takes something away, so this ends.
      const isOut = (description: RegExp) => isRefused(thrown, description);
      // The chat's General is where its members look first.
      if (threadOf(to) && isOut(NO_TOPIC)) to = withoutThread(to);
      else if (left.replyToId !== undefined && isOut(NO_REPLY)) left = { ...left, replyToId: undefined };
      // For Telegram's own servers, a message in a topic refers to the first message of the topic.
      else if (threadOf(to) && isOut(NO_REPLY)) to = withoutThread(to);
      else if (hasTokensOnly(left.keyboard) && isOut(NO_BUTTONS)) left = withoutKeyboard(left);
      else if (left.file !== undefined && isOut(NO_CAPTION)) {
        const { line, lost: refused } = unattached(left.file);
        left = withoutFile(left, line);
        lost = refused;
      } else {
        const less = lessFormatted(left, thrown);
        if (!less) throw thrown;
        left = less;
      }
    }
  }
}

/** The words are worth more than the file, and one message is all that a part may become. */
function withoutFile({ file: _, ...body }: PartBody, line: string): PartBody {
  return { ...body, text: withLine(body.text, line) };
}

const without = (lost: LostFile | undefined, result: SendResult): SendResult =>
  lost && result.kind === "sent" ? { ...result, lostFiles: [lost] } : result;

/** Only where links to press would be lost with the formatting: the gateway sends all else as plain text. */
function lessFormatted(body: PartBody, thrown: unknown): PartBody | undefined {
  const hasLinks = body.keyboard?.some((row) => row.some((button) => "url" in button)) === true;
  return hasLinks && isRefused(thrown, NO_ENTITIES) ? withoutEntities(body) : undefined;
}

/** Links become lines of text another way: see plainPart. */
function hasTokensOnly(keyboard: PartBody["keyboard"]): boolean {
  return keyboard?.every((row) => row.every((button) => !("url" in button))) === true;
}

function withoutKeyboard({ keyboard: _, ...body }: PartBody): PartBody {
  const text = withLine(body.text, "[the buttons could not be attached]");
  return text.length <= (body.file ? CAPTION_MAX : TEXT_MAX) ? { ...body, text } : body;
}

const withLine = (text: string, line: string) => (text === "" ? line : `${text}\n${line}`);

function post(context: SendContext, address: Address, body: PartBody, attempt: FileAttempt): Promise<SendResult> {
  const { signal } = attempt;
  const common = { chat_id: chatIdOf(address), ...threadOf(address), ...optionsOf(body) };
  const call = context.caller.call;
  const words = (text: string) =>
    call("sendMessage", Object.assign(common, textOf({ ...body, text: text.slice(0, TEXT_MAX) })), signal).then(posted);
  if (!body.file) return words(body.text);
  const all = { ...common, ...captionOf(body) };
  const send = ({ method, media, upload }: OutgoingFile) => {
    switch (method) {
      case "photo":
        return call("sendPhoto", { ...all, photo: media }, signal, upload);
      case "document":
        return call("sendDocument", { ...all, document: media }, signal, upload);
      case "audio":
        return call("sendAudio", { ...all, audio: media }, signal, upload);
      case "video":
        return call("sendVideo", { ...all, video: media }, signal, upload);
      case "animation":
        return call("sendAnimation", { ...all, animation: media }, signal, upload);
      case "voice":
        return call("sendVoice", { ...all, voice: media }, signal, upload);
      case "video_note":
        return call("sendVideoNote", { ...common, video_note: media }, signal, upload);
      case "sticker":
        return call("sendSticker", { ...common, sticker: media }, signal, upload);
    }
  };
  return withFile(body.file, accessTo(body.file, context, attempt), async (file) =>
    "line" in file ? without(file.lost, await words(withLine(body.text, file.line))) : posted(await send(file)),
  );
}

/** Throws when the answer names no message: it may have been posted all the same. */
function posted({ message_id: id }: { message_id?: number }): SendResult {
  if (!Number.isSafeInteger(id)) throw new UnusableAnswer("the answer names no message");
  return { kind: "sent", messageId: String(id) };
}

/**
 * The answer to a press, which only the person who pressed sees. Words that do not fit in it, or come too late, go as a
 * message; the button stops spinning all the same.
 */
async function notice(
  { caller }: SendContext,
  { token, first }: NonNullable<Create["interaction"]>,
  { text, keyboard, file }: PartBody,
  signal: AbortSignal,
): Promise<SendResult> {
  const isFitting = text.length <= NOTICE_MAX && !keyboard && !file;
  const isUnposted = isFitting ? undefined : true;
  if (!first) return { kind: "interaction-closed", error: "a press is answered once", isUnposted: true };
  try {
    const answer = { callback_query_id: token, text: isFitting ? text : undefined };
    await caller.call("answerCallbackQuery", answer, signal);
  } catch (thrown) {
    const failure = readFailure(thrown);
    if (failure.kind !== "refused" || failure.status !== 400) throw thrown;
    return { kind: "interaction-closed", error: describeFailure(failure), isUnposted };
  }
  if (!isFitting)
    return { kind: "interaction-closed", error: "it does not fit in the answer to a press", isUnposted: true };
  return { kind: "sent", messageId: `callback:${token}` };
}

async function edit(context: SendContext, operation: Edit, signal: AbortSignal): Promise<SendResult> {
  const body = readBody(operation.part.body);
  try {
    return await change(context, operation, body, signal);
  } catch (thrown) {
    const less = lessFormatted(body, thrown);
    if (!less) throw thrown;
    return change(context, operation, less, signal);
  }
}

/** An edit names no topic: the message id is unique in the whole chat, and the Bot API has no such parameter. */
async function change(
  context: SendContext,
  { address, messageId, isLastAttempt, fetch }: Edit,
  body: PartBody,
  signal: AbortSignal,
): Promise<SendResult> {
  const message = { chat_id: chatIdOf(address), message_id: Number(messageId) };
  const common = withButtons(message, body);
  const words = (text: string) => editWords(context, message, { ...body, text }, signal);
  const sent: SendResult = { kind: "sent", messageId };
  if (!body.file) return words(body.text);
  // A further file of a message has no words.
  const caption = async () =>
    body.text !== "" && (await context.caller.call("editMessageCaption", { ...common, ...captionOf(body) }, signal));
  if (body.file.isKept) return caption().then(() => sent);
  return withFile(body.file, accessTo(body.file, context, { signal, isLastAttempt, fetch }), async (file) => {
    if ("line" in file) return without(file.lost, await words(withLine(body.text, file.line).slice(0, TEXT_MAX)));
    // Only the caption of a voice message can change. The message posted in its place may be a text.
    if (file.method === "voice")
      try {
        if (await caption()) return sent;
      } catch (thrown) {
        if (!isRefused(thrown, NO_EDIT)) throw thrown;
      }
    const type = editableKind(file.method);
    const media = { type, media: file.media, ...captionOf(body) };
    await context.caller.call("editMessageMedia", { ...common, media }, signal, file.upload);
    return sent;
  });
}

/** A message cannot become one of the others; a file_id of those is refused, and its bytes are taken. https://core.telegram.org/bots/api#inputmedia */
function editableKind(kind: OwnKind) {
  return kind === "sticker" || kind === "voice" || kind === "video_note" ? "document" : kind;
}

interface Posted {
  chat_id: number;
  message_id: number;
}

const withButtons = (message: Posted, { keyboard }: PartBody) => ({
  ...message,
  reply_markup: keyboard && { inline_keyboard: keyboard },
});

/** The words of a file are its caption. A message cannot lose its file, and takes no long caption: then it makes place for a new one. */
async function editWords(
  context: SendContext,
  message: Posted,
  body: PartBody,
  signal: AbortSignal,
): Promise<SendResult> {
  const { call } = context.caller;
  const common = withButtons(message, body);
  const sent: SendResult = { kind: "sent", messageId: String(message.message_id) };
  const { noFile, ...kept } = body;
  const text = noFile ? withLine(body.text, FILE_REMOVED) : body.text;
  const isLong = text.length > CAPTION_MAX;
  try {
    await call("editMessageText", { ...common, ...textOf(body) }, signal);
    return sent;
  } catch (thrown) {
    // An edit of nothing but words leaves the file where it is.
    if (!isRefused(thrown, NO_TEXT) || (isLong && !noFile && !body.file)) throw thrown;
  }
  if (!noFile && !isLong) await call("editMessageCaption", { ...common, ...captionOf(body) }, signal);
  else if ((await isTakenAway(context, message, isLong ? { text: DELETED } : { ...kept, text }, signal)) || isLong)
    return {
      kind: "gone",
      error: isLong ? "its words do not fit in a caption" : "its file was removed",
      isNowhere: true,
    };
  return sent;
}

async function remove(context: SendContext, { address, messageId }: Delete, signal: AbortSignal): Promise<SendResult> {
  const message = { chat_id: chatIdOf(address), message_id: Number(messageId) };
  await isTakenAway(context, message, { text: DELETED }, signal);
  return { kind: "sent", messageId };
}

/** False when the message is too old to delete: then its text is `left` instead. */
async function isTakenAway(
  context: SendContext,
  message: Posted,
  left: PartBody,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await context.caller.call("deleteMessage", { ...message }, signal);
    return true;
  } catch (thrown) {
    if (!isRefused(thrown, NO_DELETION)) throw thrown;
    try {
      await editWords(context, message, left, signal);
    } catch (refused) {
      // Edited before, and the answer was lost.
      if (!isRefused(refused, NOT_MODIFIED)) throw isRefused(refused, NO_EDIT) ? thrown : refused;
    }
    return false;
  }
}

function isRefused(thrown: unknown, description: RegExp): boolean {
  const failure = readFailure(thrown);
  return failure.kind === "refused" && failure.status === 400 && description.test(failure.description);
}

function withoutThread({ threadId: _, ...chat }: Address): Address {
  return chat;
}

function optionsOf({ silent, keyboard, placeholder, replyToId }: PartBody) {
  if (!silent && !keyboard && !placeholder && replyToId === undefined) return undefined;
  return {
    disable_notification: silent || undefined,
    ...markupOf({ keyboard, placeholder }),
    reply_parameters:
      replyToId === undefined ? undefined : { message_id: replyToId, allow_sending_without_reply: true },
  };
}

/** Only who is named in the text, or replied to, is shown the box to answer in. https://core.telegram.org/bots/api#forcereply */
function markupOf({ keyboard, placeholder }: Pick<PartBody, "keyboard" | "placeholder">) {
  if (keyboard) return { reply_markup: { inline_keyboard: keyboard } };
  if (!placeholder) return {};
  return { reply_markup: { force_reply: true as const, selective: true, input_field_placeholder: placeholder } };
}

const NO_PREVIEW = { is_disabled: true };

function textOf({ text, entities }: PartBody) {
  return { text, entities: entities && whole(entities), link_preview_options: NO_PREVIEW };
}

function captionOf({ text, entities }: PartBody) {
  if (text === "") return {};
  return { caption: text, caption_entities: entities && whole(entities) };
}

/** A link needs its address, and nothing else may have one. */
function whole(entities: NonNullable<PartBody["entities"]>) {
  return entities.map(({ type, offset, length, url, language, user }) => {
    const place = { offset, length };
    if (type === "text_link") return { type, ...place, url: url ?? "" };
    // Only the id is read: https://core.telegram.org/bots/api#messageentity
    if (type === "text_mention") return { type, ...place, user: { id: user?.id ?? 0, is_bot: false, first_name: "" } };
    if (type === "pre") return { type, ...place, language };
    return { type, ...place };
  });
}

function chatIdOf({ chatId }: Address): number {
  const id = Number(chatId);
  if (Number.isSafeInteger(id) && id !== 0) return id;
  throw new HookgateError({ code: "TELEGRAM_CHAT_INVALID", message: `"${chatId}" is no chat id of Telegram` });
}

/** General is topic 1, and a send that names it is refused. https://core.telegram.org/bots/api#sendmessage */
function threadOf({ threadId }: Address): { message_thread_id: number } | undefined {
  if (threadId === undefined) return undefined;
  const id = Number(threadId);
  return Number.isSafeInteger(id) && id > 1 ? { message_thread_id: id } : undefined;
}

type FileAttempt = Pick<Create, "isLastAttempt" | "fetch"> & { signal: AbortSignal };

function accessTo(
  file: Attachment,
  context: SendContext,
  { signal, isLastAttempt = false, fetch }: FileAttempt,
): FileAccess {
  const { caller, uploadTimeoutMs, fileSilenceMs: silenceMs, maxFileBytes, outgoing, logger } = context;
  const timeoutMs = Math.min(uploadTimeoutMs, fetch?.withinMs ?? uploadTimeoutMs);
  const ask = file.platform === undefined ? undefined : context.freshLink;
  const freshLink = ask && (() => ask(file, signal));
  const limits = { maxBytes: maxFileBytes, timeoutMs, silenceMs, allow: outgoing, signal, freshLink };
  return { limits, caller, isLastAttempt, onEnd: () => fetch?.onEnd(), logger };
}
