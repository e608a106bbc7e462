/** What exists on the fake Telegram: the bot account, people, chats with their topics and messages, files. */

export interface FakeUser {
  id: number;
  is_bot: boolean;
  first_name: string;
  username?: string;
}

export interface FakeMessage {
  message_id: number;
  date: number;
  chat: Record<string, unknown> & { id: number; type: string };
  from?: FakeUser;
  sender_chat?: Record<string, unknown>;
  message_thread_id?: number;
  is_topic_message?: boolean;
  reply_to_message?: FakeMessage;
  edit_date?: number;
  text?: string;
  entities?: FakeEntity[];
  caption?: string;
  caption_entities?: FakeEntity[];
  reply_markup?: FakeMarkup | undefined;
  [content: string]: unknown;
}

export interface FakeEntity {
  type: string;
  offset: number;
  length: number;
  url?: string;
  language?: string;
  user?: FakeUser;
  custom_emoji_id?: string;
}

/** What stands under a message of the bot: buttons, or a box to answer in. */
export type FakeMarkup =
  | { inline_keyboard: FakeButton[][] }
  | { force_reply: true; selective?: boolean; input_field_placeholder?: string };

export interface FakeButton {
  text: string;
  url?: string;
  callback_data?: string;
}

export interface FakeChat {
  id: number;
  type: "private" | "group" | "supergroup";
  title?: string;
  isForum: boolean;
  /** Thread id → name; 1 is General and stands in no message. */
  topics: Map<number, string>;
  messages: Map<number, FakeMessage>;
  nextMessageId: number;
  /** Sends are refused with this id. */
  migratedTo?: number;
  /** People who left. */
  left?: readonly number[];
  /** Kinds of files that members, the bot among them, may not send here. */
  noRightsTo?: readonly string[];
  /** The person blocked the bot, or the bot was kicked out. */
  isBlocked?: boolean;
}

export interface FakeFile {
  kind: string;
  file_id: string;
  file_unique_id: string;
  file_path: string;
  file_size: number;
  mime_type?: string;
  file_name?: string;
  bytes: Buffer;
}

export class World {
  readonly bot: FakeUser & { username: string };
  readonly users = new Map<number, FakeUser>();
  readonly chats = new Map<number, FakeChat>();
  readonly files = new Map<string, FakeFile>();
  /** By scope and language, as JSON. */
  readonly commands = new Map<string, { command: string; description: string }[]>();
  #nextUserId = 1001;
  #nextGroupId = 1;

  constructor(botId: number, username: string) {
    this.bot = { id: botId, is_bot: true, first_name: "Hookgate", username };
    this.users.set(botId, this.bot);
  }

  addUser(facts: { id?: number; firstName?: string; username?: string; isBot?: boolean } = {}): FakeUser {
    const id = facts.id ?? this.#nextUserId++;
    const user: FakeUser = {
      id,
      is_bot: facts.isBot ?? false,
      first_name: facts.firstName ?? `Person ${id}`,
      username: facts.username,
    };
    this.users.set(id, user);
    return user;
  }

  /** Small groups have small negative ids, supergroups begin with -100. */
  addChat(facts: { type: "group" | "supergroup"; title: string; isForum?: boolean; id?: number }): FakeChat {
    const number = this.#nextGroupId++;
    const id = facts.id ?? (facts.type === "group" ? -(4000 + number) : -(1_001_000_000_000 + number));
    return this.#chat({ id, type: facts.type, title: facts.title, isForum: facts.isForum ?? false });
  }

  /** The private chat with a person; it has the person's id. */
  dmWith(userId: number): FakeChat {
    return this.chats.get(userId) ?? this.#chat({ id: userId, type: "private", isForum: false });
  }

  #chat(facts: Pick<FakeChat, "id" | "type" | "title" | "isForum">): FakeChat {
    const chat: FakeChat = { ...facts, topics: new Map(), messages: new Map(), nextMessageId: facts.isForum ? 2 : 1 };
    this.chats.set(chat.id, chat);
    return chat;
  }

  addTopic(chat: FakeChat, name: string): number {
    const id = chat.nextMessageId++;
    chat.topics.set(id, name);
    return id;
  }

  chatPayload(chat: FakeChat): FakeMessage["chat"] {
    if (chat.type === "private") {
      const user = this.users.get(chat.id);
      return { id: chat.id, type: "private", first_name: user?.first_name ?? "", username: user?.username };
    }
    return { id: chat.id, type: chat.type, title: chat.title, is_forum: chat.isForum || undefined };
  }

  /** Adds a message to its chat and gives it as Telegram would. */
  post(chat: FakeChat, from: FakeUser, content: Record<string, unknown>, threadId?: number): FakeMessage {
    const message: FakeMessage = {
      message_id: chat.nextMessageId++,
      date: Math.floor(Date.now() / 1000),
      chat: this.chatPayload(chat),
      from,
      message_thread_id: threadId,
      is_topic_message: threadId === undefined ? undefined : true,
      ...content,
    };
    chat.messages.set(message.message_id, message);
    return message;
  }

  addFile(facts: { kind: string; bytes: Buffer; name?: string; mime?: string }): FakeFile {
    const number = this.files.size + 1;
    const name = facts.name ?? `file_${number}`;
    const file: FakeFile = {
      kind: facts.kind,
      file_id: `fake-${facts.kind}-${number}`,
      file_unique_id: `unique-${number}`,
      file_path: `${facts.kind}s/${encodeURIComponent(name)}`,
      file_size: facts.bytes.length,
      file_name: name,
      mime_type: facts.mime,
      bytes: facts.bytes,
    };
    this.files.set(file.file_id, file);
    return file;
  }
}
