/** What the fake Discord knows: guilds, channels, people, messages, commands. Plain data and the rules for ids; no I/O. */
import type {
  APIChannel,
  APIEmbed,
  APIMessage,
  APIMessageComponent,
  APIUser,
  GatewayGuildCreateDispatchData,
} from "discord-api-types/v10";

const EPOCH_MS = 1_420_070_400_000n;

export const ChannelType = { text: 0, dm: 1, announcement: 5, publicThread: 11, forum: 15 } as const;

export interface FakeChannel {
  id: string;
  type: number;
  name?: string;
  guildId?: string;
  parentId?: string;
  /** The person at the other end of a DM. */
  userId?: string;
  lastMessageId?: string;
  /** The bot may not see it: REST answers 50001. */
  isHidden?: boolean;
  /** Only members with this role see it, and the bot. */
  forRole?: string;
  /** The bot lacks Read Message History: the history is shown empty, a reply is refused with 160002. */
  noHistory?: boolean;
  /** The bot lacks Embed Links: an embed is refused with 50013. */
  noEmbeds?: boolean;
  /** The bot lacks Attach Files: an upload is refused with 50013. */
  noFiles?: boolean;
  /** A thread: changes are refused with 50083, a message reopens it; the guild does not tell of it. */
  isArchived?: boolean;
  /** When that was. */
  archivedAt?: number;
  /** Only who manages threads reopens it; the bot does not. */
  isLocked?: boolean;
  /** Tags of a forum; a post without one is refused with 40067. */
  requiredTags?: { id: string; name: string; moderated?: boolean }[];
  messages: Map<string, APIMessage>;
}

export interface FakeUser {
  id: string;
  username: string;
  globalName?: string;
  isBot: boolean;
  roleIds: string[];
  nick?: string;
  /** No member of the guild. */
  isOutside?: boolean;
}

export interface FakeInteraction {
  id: string;
  token: string;
  type: number;
  channelId: string;
  /** Who began it. */
  userId: string;
  createdAt: number;
  /** When the first answer came, and of what type. */
  acknowledged?: { at: number; type: number; isPrivate: boolean; data?: unknown };
  /** The message that `@original` names. */
  originalId?: string;
  sourceMessageId?: string;
}

export class World {
  #counter = 0n;
  readonly bot: FakeUser;
  readonly applicationId: string;
  readonly guildId: string;
  readonly users = new Map<string, FakeUser>();
  readonly channels = new Map<string, FakeChannel>();
  readonly interactions = new Map<string, FakeInteraction>();
  /** `channel:nonce` → message id and when it was made. */
  readonly nonces = new Map<string, { messageId: string; at: number }>();
  commands: Record<string, unknown>[] = [];
  readonly roles: { id: string; name: string; permissions: string }[] = [];

  constructor() {
    // The one in FAKE_TOKEN: a token begins with the id of its account.
    const botId = "1".repeat(18);
    this.bot = { id: botId, username: "hookgate", isBot: true, roleIds: [] };
    this.applicationId = botId;
    this.users.set(botId, this.bot);
    this.guildId = this.snowflake();
    // VIEW_CHANNEL, SEND_MESSAGES, READ_MESSAGE_HISTORY, …
    this.roles.push({ id: this.guildId, name: "@everyone", permissions: "104324673" });
  }

  /** A new id; `atMs` sets the time inside it. */
  snowflake(atMs: number = Date.now()): string {
    this.#counter = (this.#counter + 1n) & 0x3fffffn;
    return String(((BigInt(atMs) - EPOCH_MS) << 22n) | this.#counter);
  }

  addUser(facts: Partial<FakeUser> & { username: string }): FakeUser {
    const user: FakeUser = { id: facts.id ?? this.snowflake(), isBot: false, roleIds: [], ...facts };
    this.users.set(user.id, user);
    return user;
  }

  addChannel(facts: Partial<FakeChannel> & { type: number }): FakeChannel {
    const isDm = facts.type === ChannelType.dm;
    const channel: FakeChannel = {
      guildId: isDm ? undefined : this.guildId,
      ...facts,
      id: facts.id ?? this.snowflake(),
      messages: new Map(),
    };
    this.channels.set(channel.id, channel);
    return channel;
  }

  dmWith(userId: string): FakeChannel {
    for (const channel of this.channels.values()) if (channel.userId === userId) return channel;
    return this.addChannel({ type: ChannelType.dm, userId });
  }

  channelPayload(channel: FakeChannel): APIChannel {
    const user = channel.userId === undefined ? undefined : this.users.get(channel.userId);
    const hidden = { id: this.guildId, type: 0, allow: "0", deny: "1024" };
    const seenBy = (id: string, type: number) => ({ id, type, allow: "1024", deny: "0" });
    const overwrites = [
      ...(channel.isHidden || channel.forRole !== undefined ? [hidden] : []),
      ...(channel.noHistory ? [{ id: this.guildId, type: 0, allow: "0", deny: String(1 << 16) }] : []),
      ...(channel.forRole === undefined ? [] : [seenBy(channel.forRole, 0), seenBy(this.bot.id, 1)]),
    ];
    return {
      id: channel.id,
      type: channel.type,
      name: channel.name ?? null,
      last_message_id: channel.lastMessageId ?? null,
      guild_id: channel.guildId,
      parent_id: channel.parentId,
      available_tags: channel.requiredTags,
      flags: channel.requiredTags && 1 << 4,
      recipients: user && [this.userPayload(user)],
      permission_overwrites: overwrites.length > 0 ? overwrites : undefined,
    } as APIChannel;
  }

  userPayload(user: FakeUser): APIUser {
    return {
      id: user.id,
      username: user.username,
      discriminator: "0",
      global_name: user.globalName ?? null,
      avatar: null,
      bot: user.isBot || undefined,
    };
  }

  memberPayload(user: FakeUser) {
    return {
      roles: user.roleIds,
      nick: user.nick ?? null,
      joined_at: "2024-01-01T00:00:00.000000+00:00",
      deaf: false,
      mute: false,
      flags: 0,
      avatar: null,
    };
  }

  guildPayload(): GatewayGuildCreateDispatchData {
    const inGuild = [...this.channels.values()].filter((channel) => channel.guildId === this.guildId);
    return {
      id: this.guildId,
      name: "Test guild",
      owner_id: "1",
      unavailable: false,
      roles: this.roles,
      emojis: [],
      members: [{ ...this.memberPayload(this.bot), user: this.userPayload(this.bot) }],
      channels: inGuild.filter((c) => c.type !== ChannelType.publicThread).map((c) => this.channelPayload(c)),
      threads: inGuild
        .filter((c) => c.type === ChannelType.publicThread && !c.isArchived)
        .map((c) => this.channelPayload(c)),
      presences: [],
      voice_states: [],
      stage_instances: [],
      guild_scheduled_events: [],
      member_count: this.users.size,
      large: false,
      joined_at: "2024-01-01T00:00:00.000000+00:00",
    } as unknown as GatewayGuildCreateDispatchData; // a test double of a large payload: only what clients read
  }

  /** Makes and keeps a message. */
  post(channel: FakeChannel, author: FakeUser, facts: NewMessage): APIMessage {
    const id = facts.id ?? this.snowflake();
    const mentioned = [...(facts.content ?? "").matchAll(/<@!?(\d+)>/g)]
      .map(([, userId]) => this.users.get(userId as string))
      .filter((user) => user !== undefined);
    const referenced = facts.replyToId === undefined ? undefined : channel.messages.get(facts.replyToId);
    const message = {
      id,
      type: facts.type ?? (facts.replyToId === undefined ? 0 : 19),
      channel_id: channel.id,
      channel_type: channel.type,
      content: facts.content ?? "",
      author: this.userPayload(author),
      attachments: facts.attachments ?? [],
      embeds: facts.embeds ?? [],
      components: facts.components ?? [],
      mentions: mentioned.map((user) => this.userPayload(user)),
      mention_roles: [],
      mention_everyone: false,
      pinned: false,
      tts: false,
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      flags: facts.flags ?? 0,
      nonce: facts.nonce,
      message_reference:
        facts.replyToId === undefined ? undefined : { type: 0, message_id: facts.replyToId, channel_id: channel.id },
      referenced_message: referenced && { ...referenced, referenced_message: undefined },
      ...facts.extra,
    } as unknown as APIMessage;
    channel.messages.set(id, message);
    channel.lastMessageId = id;
    return message;
  }
}

export interface NewMessage {
  id?: string;
  content?: string;
  type?: number;
  attachments?: Record<string, unknown>[];
  embeds?: APIEmbed[];
  components?: APIMessageComponent[];
  nonce?: string;
  flags?: number;
  replyToId?: string;
  /** More fields of the payload, as they are. */
  extra?: Record<string, unknown>;
}
