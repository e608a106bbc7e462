/** The Bot API's methods, one function each, as https://core.telegram.org/bots/api describes them. */
import { badRequest, Refused } from "./calls.js";
import type { Floods } from "./faults.js";
import { CAPTION_MAX, parseKeyboard, parseText, TEXT_MAX } from "./text.js";
import type { Updates } from "./updates.js";
import type { FakeChat, FakeFile, FakeMessage, World } from "./world.js";

export interface Upload {
  field: string;
  name: string;
  mime: string;
  sizeBytes: number;
  bytes: Buffer;
}

export interface Request {
  method: string;
  payload: Record<string, unknown>;
  uploads: Upload[];
}

export interface MethodContext {
  world: World;
  updates: Updates;
  floods: Floods;
  /** Callback queries that wait for their answer. */
  callbacks: Map<string, { answered: boolean; createdAt: number }>;
}

export interface MethodResult {
  result: unknown;
  messageIds: number[];
}

type Method = (context: MethodContext, request: Request) => MethodResult;

const nothing = (result: unknown): MethodResult => ({ result, messageIds: [] });
const posted = (message: FakeMessage): MethodResult => ({ result: message, messageIds: [message.message_id] });

/** By lower-case name; the server takes any case. */
export const METHODS: Record<string, Method> = {
  getme: ({ world }) =>
    nothing({
      ...world.bot,
      can_join_groups: true,
      can_read_all_group_messages: true,
      supports_inline_queries: false,
    }),
  setwebhook: ({ updates }, { payload }) => {
    updates.setWebhook(payload);
    return nothing(true);
  },
  deletewebhook: ({ updates }, { payload }) => {
    updates.deleteWebhook(payload);
    return nothing(true);
  },
  getwebhookinfo: ({ updates }) => nothing(updates.webhookInfo()),
  sendmessage: (context, { payload }) => {
    const chat = openChat(context, payload, true);
    const { text, entities } = parseText(payload.text, payload.entities, payload.parse_mode, {
      max: TEXT_MAX,
      isRequired: true,
    });
    return posted(send(context, chat, payload, { text, entities: entities.length > 0 ? entities : undefined }));
  },
  sendphoto: (context, request) => sendMedia(context, request, "photo"),
  senddocument: (context, request) => sendMedia(context, request, "document"),
  sendaudio: (context, request) => sendMedia(context, request, "audio"),
  sendvideo: (context, request) => sendMedia(context, request, "video"),
  sendvoice: (context, request) => sendMedia(context, request, "voice"),
  sendanimation: (context, request) => sendMedia(context, request, "animation"),
  sendvideonote: (context, request) => sendMedia(context, request, "video_note"),
  sendsticker: (context, request) => sendMedia(context, request, "sticker"),
  sendmediagroup: (context, request) => {
    const { payload } = request;
    const chat = openChat(context, payload, true);
    const media = objects(payload.media);
    if (media.length < 2 || media.length > 10) throw badRequest("media group must include 2-10 items");
    const group = String(Date.now());
    const messages = media.map((item) => {
      const kind = String(item.type);
      const content = mediaContent(context, request, kind, item.media);
      return send(context, chat, payload, { media_group_id: group, ...content, ...captionOf(item) });
    });
    return { result: messages, messageIds: messages.map((message) => message.message_id) };
  },
  sendchataction: (context, { payload }) => {
    openChat(context, payload, false);
    return nothing(true);
  },
  editmessagetext: (context, { payload }) => {
    const message = findToEdit(context, payload);
    if (message.text === undefined) throw badRequest("there is no text in the message to edit");
    const { text, entities } = parseText(payload.text, payload.entities, payload.parse_mode, {
      max: TEXT_MAX,
      isRequired: true,
    });
    return change(message, { text, entities: entities.length > 0 ? entities : undefined }, payload);
  },
  editmessagecaption: (context, { payload }) => {
    const message = findToEdit(context, payload);
    if (message.text !== undefined || message.sticker || message.video_note)
      throw badRequest("there is no caption in the message to edit");
    return change(message, { caption: undefined, caption_entities: undefined, ...captionOf(payload) }, payload);
  },
  editmessagemedia: (context, request) => {
    const message = findToEdit(context, request.payload);
    const [media] = objects([parsed(request.payload.media)]);
    if (!media) throw badRequest("can't parse InputMedia");
    if (!["animation", "audio", "document", "photo", "video"].includes(String(media.type)))
      throw badRequest("can't parse InputMedia");
    if (message.voice || message.sticker || message.video_note)
      throw badRequest("there is no media in the message to edit");
    const content = mediaContent(context, request, String(media.type), media.media);
    const without = { text: undefined, entities: undefined, caption: undefined, caption_entities: undefined };
    const others = { photo: undefined, document: undefined, audio: undefined, video: undefined, animation: undefined };
    return change(message, { ...without, ...others, ...content, ...captionOf(media) }, request.payload);
  },
  editmessagereplymarkup: (context, { payload }) => change(findToEdit(context, payload), {}, payload),
  deletemessage: (context, { payload }) => {
    const chat = openChat(context, payload, false);
    const id = Number(payload.message_id);
    // https://core.telegram.org/bots/api#deletemessage
    const { date } = chat.messages.get(id) ?? {};
    if (date !== undefined && Date.now() / 1000 - date > 48 * 3600)
      throw badRequest("message can't be deleted for everyone");
    if (!chat.messages.delete(id)) throw badRequest("message to delete not found");
    return { result: true, messageIds: [id] };
  },
  deletemessages: (context, { payload }) => {
    const chat = openChat(context, payload, false);
    const ids = (parsed(payload.message_ids) as unknown[]).map(Number);
    for (const id of ids) chat.messages.delete(id);
    return { result: true, messageIds: ids };
  },
  answercallbackquery: ({ callbacks }, { payload }) => {
    const query = callbacks.get(String(payload.callback_query_id));
    if (!query || query.answered)
      throw badRequest("query is too old and response timeout expired or query ID is invalid");
    if (String(payload.text ?? "").length > 200) throw badRequest("MESSAGE_TOO_LONG");
    query.answered = true;
    return nothing(true);
  },
  setmycommands: ({ world }, { payload }) => {
    const commands = objects(payload.commands);
    if (commands.length > 100) throw badRequest("BOT_COMMANDS_TOO_MUCH");
    for (const { command, description } of commands) {
      if (!/^[a-z0-9_]{1,32}$/.test(String(command))) throw badRequest("BOT_COMMAND_INVALID");
      const size = String(description ?? "").length;
      if (size < 1 || size > 256) throw badRequest("BOT_COMMAND_DESCRIPTION_INVALID");
    }
    world.commands.set(
      scopeKey(payload),
      commands.map(({ command, description }) => ({ command: String(command), description: String(description) })),
    );
    return nothing(true);
  },
  getmycommands: ({ world }, { payload }) => nothing(world.commands.get(scopeKey(payload)) ?? []),
  deletemycommands: ({ world }, { payload }) => {
    world.commands.delete(scopeKey(payload));
    return nothing(true);
  },
  getfile: ({ world }, { payload }) => {
    const file = world.files.get(String(payload.file_id));
    if (!file) throw badRequest("wrong file_id or the file is temporarily unavailable");
    if (file.file_size > 20_000_000) throw badRequest("file is too big");
    const { file_id, file_unique_id, file_size, file_path } = file;
    return nothing({ file_id, file_unique_id, file_size, file_path });
  },
  setmessagereaction: (context, { payload }) => {
    const chat = openChat(context, payload, false);
    if (!chat.messages.has(Number(payload.message_id))) throw badRequest("message to react not found");
    return nothing(true);
  },
  createforumtopic: (context, { payload }) => {
    const chat = openChat(context, payload, false);
    const name = typeof payload.name === "string" ? payload.name : "";
    if (!chat.isForum) throw badRequest("the chat is not a forum");
    if (name === "" || [...name].length > 128) throw badRequest("TOPIC_TITLE_INVALID");
    return nothing({ message_thread_id: context.world.addTopic(chat, name), name, icon_color: 7322096 });
  },
  getchatmember: (context, { payload }) => {
    const chat = openChat(context, payload, false);
    const user = context.world.users.get(Number(payload.user_id));
    if (!user) throw badRequest("user not found");
    return nothing({ status: chat.left?.includes(user.id) ? "left" : "member", user });
  },
  getchat: (context, { payload }) => nothing(context.world.chatPayload(openChat(context, payload, false))),
};

function parsed(value: unknown): unknown {
  return typeof value === "string" ? (JSON.parse(value) as unknown) : value;
}

function objects(value: unknown): Record<string, unknown>[] {
  const list = parsed(value);
  if (!Array.isArray(list)) throw badRequest("expected an Array");
  return list.map((item: unknown) => Object(item) as Record<string, unknown>);
}

function scopeKey(payload: Record<string, unknown>): string {
  return JSON.stringify({ scope: parsed(payload.scope) ?? { type: "default" }, language: payload.language_code ?? "" });
}

/** The chat of a request, or the refusal that Telegram gives. */
function openChat({ world, floods }: MethodContext, payload: Record<string, unknown>, isSend: boolean): FakeChat {
  if (payload.chat_id === undefined || payload.chat_id === "") throw badRequest("chat_id is empty");
  const chat = world.chats.get(Number(payload.chat_id));
  if (!chat && world.users.has(Number(payload.chat_id)))
    throw new Refused(403, "Forbidden: bot can't initiate conversation with a user");
  if (!chat) throw badRequest("chat not found");
  if (chat.migratedTo !== undefined)
    throw badRequest("group chat was upgraded to a supergroup chat", { migrate_to_chat_id: chat.migratedTo });
  if (chat.isBlocked)
    throw new Refused(
      403,
      chat.type === "private"
        ? "Forbidden: bot was blocked by the user"
        : `Forbidden: bot was kicked from the ${chat.type} chat`,
    );
  if (isSend) floods.check(chat.id);
  return chat;
}

function send(
  { world }: MethodContext,
  chat: FakeChat,
  payload: Record<string, unknown>,
  content: Record<string, unknown>,
): FakeMessage {
  const thread = threadOf(chat, payload);
  const reply = objectOf(payload.reply_parameters);
  const replied = reply && chat.messages.get(Number(reply.message_id));
  if (reply && !replied && reply.allow_sending_without_reply !== true)
    throw badRequest("message to be replied not found");
  const keyboard = parseKeyboard(payload.reply_markup);
  return world.post(
    chat,
    world.bot,
    {
      ...content,
      reply_to_message: replied && { ...replied, reply_to_message: undefined },
      reply_markup: keyboard,
    },
    thread,
  );
}

/** https://core.telegram.org/bots/api#sendmessage: General has no thread id on a send, although it is topic 1. */
function threadOf(chat: FakeChat, payload: Record<string, unknown>): number | undefined {
  if (payload.message_thread_id === undefined) return undefined;
  const id = Number(payload.message_thread_id);
  if (!chat.topics.has(id)) throw badRequest("message thread not found");
  return id;
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  const item = parsed(value);
  return item === undefined || item === null ? undefined : (Object(item) as Record<string, unknown>);
}

function captionOf(item: Record<string, unknown>): Record<string, unknown> {
  const { text, entities } = parseText(item.caption, item.caption_entities, item.parse_mode, {
    max: CAPTION_MAX,
    isRequired: false,
  });
  return text === "" ? {} : { caption: text, caption_entities: entities.length > 0 ? entities : undefined };
}

function sendMedia(context: MethodContext, request: Request, kind: string): MethodResult {
  const chat = openChat(context, request.payload, true);
  if (chat.noRightsTo?.includes(kind)) throw badRequest(`not enough rights to send ${kind}s to the chat`);
  const content = mediaContent(context, request, kind, request.payload[kind]);
  const caption = /^(sticker|video_note)$/.test(kind) ? {} : captionOf(request.payload);
  return posted(send(context, chat, request.payload, { ...content, ...caption }));
}

/** An upload under `attach://field` or under the parameter's own name, a known file_id, or an address. */
function mediaContent(
  { world }: MethodContext,
  { uploads }: Request,
  kind: string,
  given: unknown,
): Record<string, unknown> {
  const field = typeof given === "string" && given.startsWith("attach://") ? given.slice(9) : kind;
  const upload = uploads.find((item) => item.field === field);
  const known = typeof given === "string" ? world.files.get(given) : undefined;
  if (!upload && !known) {
    if (typeof given === "string" && /^https?:/.test(given)) throw badRequest("failed to get HTTP URL content");
    throw badRequest(`there is no ${kind} in the request`);
  }
  if (known && known.kind !== kind) throw otherKind(known.kind, kind);
  if (upload && upload.sizeBytes === 0) throw badRequest("file must be non-empty");
  if (upload && kind === "photo" && !isImage(upload.bytes)) throw badRequest("IMAGE_PROCESS_FAILED");
  if (upload && upload.sizeBytes > (kind === "photo" ? 10_000_000 : 50_000_000))
    throw new Refused(413, "Request Entity Too Large");
  const file =
    known ?? world.addFile({ kind, bytes: (upload as Upload).bytes, name: upload?.name, mime: upload?.mime });
  return contentOf(kind, file);
}

/** https://core.telegram.org/bots/api#sending-files: a file_id keeps its kind. TDLib refuses what is or is to be a photo, Telegram's server the rest. */
function otherKind(kind: string, wanted: string): Refused {
  const name = (one: string) => one.replace(/(^|_)(.)/g, (_, _before, letter: string) => letter.toUpperCase());
  return badRequest(
    [kind, wanted].includes("photo")
      ? `can't use file of type ${name(kind)} as ${name(wanted)}`
      : "type of file mismatch",
  );
}

function isImage(bytes: Buffer): boolean {
  const head = bytes.subarray(0, 12).toString("latin1");
  return /^\x89PNG|^\xff\xd8\xff|^GIF8|^RIFF....WEBP/s.test(head);
}

/** How a file stands in a message. */
export function contentOf(kind: string, file: FakeFile): Record<string, unknown> {
  const { file_id, file_unique_id, file_size, file_name, mime_type } = file;
  const facts = { file_id, file_unique_id, file_size };
  switch (kind) {
    case "photo":
      return {
        photo: [
          { ...facts, file_id: `${file_id}-small`, file_size: 10, width: 90, height: 60 },
          { ...facts, width: 800, height: 600 },
        ],
      };
    case "sticker":
      return {
        sticker: {
          ...facts,
          width: 512,
          height: 512,
          type: "regular",
          is_animated: false,
          is_video: false,
          emoji: "👍",
        },
      };
    case "video_note":
      return { video_note: { ...facts, length: 240, duration: 3 } };
    case "voice":
      return { voice: { ...facts, duration: 3, mime_type: mime_type ?? "audio/ogg" } };
    case "animation": {
      const animation = { ...facts, file_name, mime_type: mime_type ?? "video/mp4", duration: 3, width: 9, height: 9 };
      return { animation, document: animation };
    }
    default:
      return { [kind]: { ...facts, file_name, mime_type, duration: kind === "document" ? undefined : 3 } };
  }
}

function findToEdit(context: MethodContext, payload: Record<string, unknown>): FakeMessage {
  const chat = openChat(context, payload, false);
  const message = chat.messages.get(Number(payload.message_id));
  if (!message) throw badRequest("message to edit not found");
  if (message.from?.id !== context.world.bot.id) throw badRequest("message can't be edited");
  // https://core.telegram.org/bots/api#updating-messages: only without a markup, or with inline buttons.
  if (message.reply_markup && !("inline_keyboard" in message.reply_markup)) throw badRequest("message can't be edited");
  if (payload.message_thread_id !== undefined && Number(payload.message_thread_id) !== message.message_thread_id)
    throw badRequest("message thread not found");
  return message;
}

function change(
  message: FakeMessage,
  content: Record<string, unknown>,
  payload: Record<string, unknown>,
): MethodResult {
  const next = { ...content, reply_markup: parseKeyboard(payload.reply_markup) };
  const isSame = Object.entries(next).every(([key, value]) => JSON.stringify(message[key]) === JSON.stringify(value));
  if (isSame)
    throw badRequest(
      "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
    );
  Object.assign(message, next, { edit_date: Math.floor(Date.now() / 1000) });
  return posted(message);
}
