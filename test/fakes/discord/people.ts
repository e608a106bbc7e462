/** What people do on the fake Discord: each call changes the world and tells the bot through the gateway. */
import type { APIMessage } from "discord-api-types/v10";
import type { FakeGateway } from "./gateway.js";
import {
  ChannelType,
  type FakeChannel,
  type FakeInteraction,
  type FakeUser,
  type NewMessage,
  type World,
} from "./world.js";

interface Defaults {
  channelId: string;
  userId: string;
}

interface Where {
  channelId?: string;
  userId?: string;
}

export class People {
  readonly #world: World;
  readonly #gateway: FakeGateway;
  readonly #defaults: Defaults;
  readonly #waiting = new Map<string, (answer: { type: number; data: unknown }) => void>();

  constructor(world: World, gateway: FakeGateway, defaults: Defaults) {
    this.#world = world;
    this.#gateway = gateway;
    this.#defaults = defaults;
  }

  /** A person writes. `dm: true` = to the bot. */
  says(
    content: string,
    facts: Where & Omit<NewMessage, "content"> & { dm?: boolean; isSilent?: boolean } = {},
  ): APIMessage {
    const user = this.#user(facts.userId);
    const channel = facts.dm ? this.#world.dmWith(user.id) : this.#channel(facts.channelId);
    const message = this.#world.post(channel, user, { ...facts, content });
    if (!facts.isSilent) this.#tell("MESSAGE_CREATE", channel, { ...message, ...this.#memberOf(channel, user) });
    return message;
  }

  /** Many messages at once, over `chats` direct conversations; none is kept: for benchmarks. */
  floods(count: number, chats: number, text = "hello"): void {
    const users = Array.from({ length: chats }, (_, n) => {
      const id = String(500_000_000_000_000_000n + BigInt(n));
      return this.#world.users.get(id) ?? this.#world.addUser({ id, username: `flood${n}` });
    });
    for (let i = 0; i < count; i++) {
      const user = users[i % chats] as FakeUser;
      const channel = this.#world.dmWith(user.id);
      const message = this.#world.post(channel, user, { content: `${text} ${i}` });
      channel.messages.delete(message.id);
      this.#tell("MESSAGE_CREATE", channel, message);
    }
  }

  /** With `attachments`, those are left. */
  edits(
    messageId: string,
    content: string,
    { attachments, ...where }: Where & Pick<NewMessage, "attachments"> = {},
  ): void {
    const { channel, message } = this.#find(messageId, where.channelId);
    Object.assign(message, { content, edited_timestamp: new Date().toISOString() });
    if (attachments) Object.assign(message, { attachments });
    const author = this.#world.users.get(message.author.id);
    this.#tell("MESSAGE_UPDATE", channel, { ...message, ...(author ? this.#memberOf(channel, author) : undefined) });
  }

  /** Discord adds a link preview: an update that nobody wrote. */
  unfurls(messageId: string, where: Where = {}): void {
    const { channel, message } = this.#find(messageId, where.channelId);
    message.embeds = [{ title: "a preview" }];
    this.#tell("MESSAGE_UPDATE", channel, message);
  }

  deletes(messageId: string, where: Where = {}): void {
    const { channel } = this.#find(messageId, where.channelId);
    channel.messages.delete(messageId);
    this.#tell("MESSAGE_DELETE", channel, { id: messageId, channel_id: channel.id });
  }

  deletesMany(ids: string[], where: Where = {}): void {
    const channel = this.#channel(where.channelId);
    for (const id of ids) channel.messages.delete(id);
    this.#tell("MESSAGE_DELETE_BULK", channel, { ids, channel_id: channel.id });
  }

  reacts(messageId: string, emoji: string, where: Where = {}): void {
    const { channel } = this.#find(messageId, where.channelId);
    const user = this.#user(where.userId);
    this.#gateway.dispatch(
      "MESSAGE_REACTION_ADD",
      {
        user_id: user.id,
        message_id: messageId,
        channel_id: channel.id,
        emoji: { id: null, name: emoji },
        burst: false,
        type: 0,
        guild_id: channel.guildId,
        member:
          channel.guildId === undefined
            ? undefined
            : { ...this.#world.memberPayload(user), user: this.#world.userPayload(user) },
      },
      { isDm: channel.guildId === undefined, needs: "reactions" },
    );
  }

  /** A slash command; options by name. */
  slash(
    name: string,
    options: Record<string, string | number | boolean> = {},
    where: Where & { dm?: boolean } = {},
  ): FakeInteraction {
    return this.#interact(2, { id: this.#world.snowflake(), name, type: 1, options: optionPayload(options) }, where);
  }

  /** A person types into an option; resolves with the choices shown, or undefined after `withinMs`. */
  async completes(
    command: string,
    option: string,
    typed: string,
    where: Where & { withinMs?: number; given?: Record<string, string> } = {},
  ): Promise<unknown> {
    const interaction = this.#interact(
      4,
      {
        id: this.#world.snowflake(),
        name: command,
        type: 1,
        options: [...optionPayload(where.given ?? {}), { name: option, type: 3, value: typed, focused: true }],
      },
      where,
    );
    const answer = await this.#answerOf(interaction, where.withinMs ?? 3000);
    return answer === undefined ? undefined : (answer.data as { choices: unknown }).choices;
  }

  /** Presses the button with this custom_id (or label) on a message. */
  presses(messageId: string, which: string, where: Where = {}): FakeInteraction {
    const { channel, message } = this.#find(messageId, where.channelId);
    const rows = (message.components ?? []) as { components?: { custom_id?: string; label?: string }[] }[];
    const buttons = rows.flatMap((row) => row.components ?? []);
    const customId = buttons.find((item) => item.custom_id === which || item.label === which)?.custom_id ?? which;
    return this.#interact(3, { custom_id: customId, component_type: 2 }, { ...where, channelId: channel.id }, message);
  }

  /** Sends a modal in. */
  submits(
    customId: string,
    values: Record<string, string>,
    where: Where & { messageId?: string } = {},
  ): FakeInteraction {
    const message = where.messageId === undefined ? undefined : this.#find(where.messageId, where.channelId).message;
    const components = Object.entries(values).map(([id, value]) => ({
      type: 1,
      components: [{ type: 4, custom_id: id, value }],
    }));
    return this.#interact(5, { custom_id: customId, components }, where, message);
  }

  /** A new thread under a channel (`messageId`: under a message of it, whose id it has), or a post in a forum. */
  opensThread(parentId: string, name: string, messageId?: string): FakeChannel {
    const own = messageId === undefined ? {} : { id: messageId };
    const thread = this.#world.addChannel({ type: ChannelType.publicThread, name, parentId, ...own });
    this.#gateway.dispatch(
      "THREAD_CREATE",
      { ...this.#world.channelPayload(thread), newly_created: true },
      { isDm: false, needs: "guilds" },
    );
    return thread;
  }

  deletesThread(threadId: string): void {
    const { id, type, parentId } = this.#channel(threadId);
    this.#world.channels.delete(threadId);
    this.#gateway.dispatch(
      "THREAD_DELETE",
      { id, type, parent_id: parentId, guild_id: this.#world.guildId },
      { isDm: false, needs: "guilds" },
    );
  }

  /** Resolves with the first answer to an interaction. */
  async answerTo(token: string, withinMs = 3000): Promise<{ type: number; data: unknown } | undefined> {
    const interaction = this.#world.interactions.get(token);
    if (!interaction) throw new Error("no such interaction");
    return this.#answerOf(interaction, withinMs);
  }

  /** Called by the REST side. */
  answered(interaction: FakeInteraction, type: number, data: unknown): void {
    this.#waiting.get(interaction.token)?.({ type, data });
    this.#waiting.delete(interaction.token);
  }

  #answerOf(interaction: FakeInteraction, withinMs: number): Promise<{ type: number; data: unknown } | undefined> {
    const { acknowledged } = interaction;
    if (acknowledged) return Promise.resolve({ type: acknowledged.type, data: acknowledged.data });
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), withinMs);
      this.#waiting.set(interaction.token, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
    });
  }

  #interact(type: number, data: object, where: Where & { dm?: boolean }, message?: APIMessage): FakeInteraction {
    const user = this.#user(where.userId);
    const channel = where.dm ? this.#world.dmWith(user.id) : this.#channel(where.channelId);
    const interaction: FakeInteraction = {
      id: this.#world.snowflake(),
      token: `fake-interaction-${this.#world.snowflake()}-${"x".repeat(60)}`,
      type,
      channelId: channel.id,
      userId: user.id,
      createdAt: Date.now(),
      sourceMessageId: message?.id,
    };
    this.#world.interactions.set(interaction.token, interaction);
    const isDm = channel.guildId === undefined;
    const person = this.#world.userPayload(user);
    this.#gateway.dispatch(
      "INTERACTION_CREATE",
      {
        id: interaction.id,
        application_id: this.#world.applicationId,
        type,
        token: interaction.token,
        version: 1,
        channel_id: channel.id,
        channel: this.#world.channelPayload(channel),
        data,
        locale: "en-US",
        entitlements: [],
        authorizing_integration_owners: {},
        context: isDm ? 1 : 0,
        attachment_size_limit: 10_485_760,
        app_permissions: "0",
        ...(isDm
          ? { user: person }
          : {
              guild_id: channel.guildId,
              member: { ...this.#world.memberPayload(user), user: person, permissions: "0" },
            }),
        message,
      },
      { isDm, needs: "always" },
    );
    return interaction;
  }

  #tell(type: string, channel: FakeChannel, data: object): void {
    const isDm = channel.guildId === undefined;
    this.#gateway.dispatch(type, isDm ? data : { ...data, guild_id: channel.guildId }, { isDm, needs: "messages" });
  }

  #memberOf(channel: FakeChannel, user: FakeUser): object {
    return channel.guildId === undefined ? {} : { member: this.#world.memberPayload(user) };
  }

  #user(id: string | undefined): FakeUser {
    const user = this.#world.users.get(id ?? this.#defaults.userId);
    if (!user) throw new Error(`the fake has no user ${id}`);
    return user;
  }

  #channel(id: string | undefined): FakeChannel {
    const channel = this.#world.channels.get(id ?? this.#defaults.channelId);
    if (!channel) throw new Error(`the fake has no channel ${id}`);
    return channel;
  }

  #find(messageId: string, channelId: string | undefined): { channel: FakeChannel; message: APIMessage } {
    const places = channelId === undefined ? this.#world.channels.values() : [this.#channel(channelId)];
    for (const channel of places) {
      const message = channel.messages.get(messageId);
      if (message) return { channel, message };
    }
    throw new Error(`the fake has no message ${messageId}`);
  }
}

function optionPayload(options: Record<string, string | number | boolean>): object[] {
  return Object.entries(options).map(([name, value]) => ({
    name,
    value,
    type: typeof value === "string" ? 3 : typeof value === "boolean" ? 5 : 4,
  }));
}
