/** What people do on the fake Telegram: each call changes the world and tells the bot by an update. */
import { contentOf } from "./methods.js";
import type { FakeUpdate, Updates } from "./updates.js";
import type { FakeButton, FakeChat, FakeEntity, FakeMessage, FakeUser, World } from "./world.js";

interface Where {
  chatId?: number;
  userId?: number;
  threadId?: number;
}

export interface Saying extends Where {
  /** To the bot, in private. */
  dm?: boolean;
  replyTo?: number;
  /** A file with the text as its caption. */
  file?: { kind: string; name?: string; mime?: string; content?: string };
  entities?: FakeEntity[];
  /** Further fields of the message. */
  extra?: Record<string, unknown>;
  /** Nothing reaches the bot. */
  isSilent?: boolean;
}

const MEDIA = ["photo", "document", "video", "audio", "animation"];

export class People {
  readonly #world: World;
  readonly #updates: Updates;
  readonly #callbacks: Map<string, { answered: boolean; createdAt: number }>;
  readonly #pressers = new Map<string, number>();
  readonly #defaults: { chatId: number; userId: number };
  /** With privacy mode the bot sees of groups only commands, mentions and replies to it. */
  isPrivacyOn = false;

  constructor(
    world: World,
    updates: Updates,
    callbacks: Map<string, { answered: boolean; createdAt: number }>,
    defaults: { chatId: number; userId: number },
  ) {
    this.#world = world;
    this.#updates = updates;
    this.#callbacks = callbacks;
    this.#defaults = defaults;
  }

  /** A person writes. Commands and mentions in the text become entities, as the apps make them. */
  says(text: string, facts: Saying = {}): FakeMessage {
    const user = this.#user(facts.userId);
    const chat = facts.dm ? this.#world.dmWith(user.id) : this.#chat(facts.chatId);
    const message = this.#world.post(chat, user, this.#content(chat, text, facts), facts.threadId);
    if (!facts.isSilent && this.#isSeen(chat, message)) this.#updates.add("message", message);
    return message;
  }

  #content(chat: FakeChat, text: string, facts: Saying): Record<string, unknown> {
    const entities = facts.entities ?? findEntities(text);
    const words = facts.file
      ? {
          ...contentOf(facts.file.kind, this.#file(facts.file)),
          caption: text === "" ? undefined : text,
          caption_entities: text !== "" && entities.length > 0 ? entities : undefined,
        }
      : { text, entities: entities.length > 0 ? entities : undefined };
    return { ...words, ...this.#reply(chat, facts), ...facts.extra };
  }

  /** Who writes in a topic without replying still replies to the message that opened it. */
  #reply(chat: FakeChat, { replyTo, threadId }: Saying): Record<string, unknown> {
    if (replyTo !== undefined) {
      const replied = chat.messages.get(replyTo);
      if (!replied) throw new Error(`the fake has no message ${replyTo} in chat ${chat.id}`);
      return { reply_to_message: { ...replied, reply_to_message: undefined } };
    }
    if (threadId === undefined) return {};
    return {
      reply_to_message: {
        message_id: threadId,
        date: 1,
        chat: this.#world.chatPayload(chat),
        from: this.#world.bot,
        message_thread_id: threadId,
        is_topic_message: true,
        forum_topic_created: { name: chat.topics.get(threadId), icon_color: 0 },
      },
    };
  }

  #file({ kind, name, mime, content }: NonNullable<Saying["file"]>) {
    return this.#world.addFile({ kind, name, mime, bytes: Buffer.from(content ?? `the bytes of a ${kind}`) });
  }

  #isSeen(chat: FakeChat, message: FakeMessage): boolean {
    if (!this.isPrivacyOn || chat.type === "private") return true;
    const entities = message.entities ?? message.caption_entities ?? [];
    const text = message.text ?? message.caption ?? "";
    return (
      message.reply_to_message?.from?.id === this.#world.bot.id ||
      entities.some(
        ({ type, offset, length }) =>
          type === "bot_command" ||
          (type === "mention" &&
            text.slice(offset + 1, offset + length).toLowerCase() === this.#world.bot.username.toLowerCase()),
      )
    );
  }

  /** The text or caption; with `file`, that takes the place of the file before, of whatever kind. */
  edits(messageId: number, text: string, { file, ...where }: Where & Pick<Saying, "file"> = {}): FakeMessage {
    const { message } = this.#find(messageId, where.chatId);
    const entities = findEntities(text);
    const isCaption = message.text === undefined;
    if (file) for (const kind of MEDIA) delete message[kind];
    if (file) Object.assign(message, contentOf(file.kind, this.#file(file)));
    Object.assign(message, {
      edit_date: Math.floor(Date.now() / 1000),
      [isCaption ? "caption" : "text"]: text,
      [isCaption ? "caption_entities" : "entities"]: entities.length > 0 ? entities : undefined,
    });
    this.#updates.add("edited_message", { ...message });
    return message;
  }

  /** Reactions that stood before are taken away by an empty list. */
  reacts(messageId: number, emoji: string[], facts: Where & { before?: string[] } = {}): FakeUpdate | undefined {
    const { chat, message } = this.#find(messageId, facts.chatId);
    const reaction = (one: string) => ({ type: "emoji", emoji: one });
    return this.#updates.add("message_reaction", {
      chat: message.chat,
      message_id: messageId,
      user: this.#user(facts.userId ?? (chat.type === "private" ? chat.id : undefined)),
      date: Math.floor(Date.now() / 1000),
      old_reaction: (facts.before ?? []).map(reaction),
      new_reaction: emoji.map(reaction),
    });
  }

  /** Presses the button with this label or callback data; resolves with the query's id. */
  presses(messageId: number, which: string, facts: Where & { isInaccessible?: boolean } = {}): string {
    const { chat, message } = this.#find(messageId, facts.chatId);
    const buttons = buttonsOf(message);
    const button = buttons.find((item) => item.callback_data === which || item.text === which);
    const id = String(7_000_000_000 + this.#callbacks.size);
    const user = this.#user(facts.userId ?? (chat.type === "private" ? chat.id : undefined));
    this.#callbacks.set(id, { answered: false, createdAt: Date.now() });
    this.#pressers.set(id, user.id);
    this.#updates.add("callback_query", {
      id,
      from: user,
      message: facts.isInaccessible ? { chat: message.chat, message_id: messageId, date: 0 } : message,
      chat_instance: "1",
      data: button?.callback_data ?? which,
    });
    return id;
  }

  pressedBy(callbackId: string): number | undefined {
    return this.#pressers.get(callbackId);
  }

  isAnswered(callbackId: string): boolean {
    return this.#callbacks.get(callbackId)?.answered ?? false;
  }

  /** A group becomes a supergroup: both chats say so, sends to the old id are refused. */
  migrates(chatId: number): number {
    const old = this.#chat(chatId);
    const next = this.#world.addChat({ type: "supergroup", title: old.title ?? "" });
    old.migratedTo = next.id;
    const user = this.#user(undefined);
    this.#updates.add("message", this.#world.post(old, user, { migrate_to_chat_id: next.id }));
    this.#updates.add("message", this.#world.post(next, user, { migrate_from_chat_id: old.id }));
    return next.id;
  }

  /** The same message in another update. */
  repeats(messageId: number, where: Where = {}): FakeUpdate | undefined {
    return this.#updates.add("message", this.#find(messageId, where.chatId).message);
  }

  /** Any update, however malformed; without `update_id` the next one is taken. */
  raw(update: Record<string, unknown>): FakeUpdate {
    return this.#updates.addRaw({ update_id: this.#updates.nextId, ...update });
  }

  /** Many messages at once, over `chats` private chats: for benchmarks. */
  floods(count: number, chats: number, text = "hello"): void {
    for (let i = 0; i < count; i++) {
      const userId = 500_000 + (i % chats);
      if (!this.#world.users.has(userId)) this.#world.addUser({ id: userId });
      const chat = this.#world.dmWith(userId);
      const message = this.#world.post(chat, this.#user(userId), { text: `${text} ${i}` });
      chat.messages.delete(message.message_id);
      this.#updates.add("message", message);
    }
  }

  #user(id: number | undefined): FakeUser {
    const user = this.#world.users.get(id ?? this.#defaults.userId);
    if (!user) throw new Error(`the fake has no user ${id}`);
    return user;
  }

  #chat(id: number | undefined): FakeChat {
    const chat = this.#world.chats.get(id ?? this.#defaults.chatId);
    if (!chat) throw new Error(`the fake has no chat ${id}`);
    return chat;
  }

  #find(messageId: number, chatId: number | undefined): { chat: FakeChat; message: FakeMessage } {
    const chat = this.#chat(chatId);
    const message = chat.messages.get(messageId);
    if (!message) throw new Error(`the fake has no message ${messageId} in chat ${chat.id}`);
    return { chat, message };
  }
}

/** The buttons under a message. */
export function buttonsOf({ reply_markup: markup }: FakeMessage): FakeButton[] {
  return markup && "inline_keyboard" in markup ? markup.inline_keyboard.flat() : [];
}

/** What the apps mark by themselves: commands and mentions. */
export function findEntities(text: string): FakeEntity[] {
  const entities: FakeEntity[] = [];
  for (const match of text.matchAll(/(?<![\w/])\/[A-Za-z0-9_]{1,64}(@\w{5,32})?(?![\w/])|(?<![\w@/])@\w{5,32}/g)) {
    const type = match[0].startsWith("/") ? "bot_command" : "mention";
    entities.push({ type, offset: match.index, length: match[0].length });
  }
  return entities;
}
