/**
 * Turns Discord's dispatches into events in the inbox: each channel in order, each event marked done only when it is
 * on disk. Malformed payloads are logged and skipped; an inbox that refuses an event ends the run, and the replay brings it again.
 */
import type { GatewayDispatchPayload } from "discord-api-types/v10";
import type { GatewayPort } from "../../src/domain/chat/adapter.js";
import type { InboundEvent } from "../../src/domain/chat/event.js";
import { errorMessage, HookgateError } from "../../src/lib/errors.js";
import type { Logger } from "../../src/lib/logger.js";
import type { Clock } from "../../src/lib/time/clock.js";
import type { Channels } from "./channels.js";
import type { CatchUp } from "./connection/catch-up.js";
import type { Session, SessionEntry } from "./connection/session.js";
import { Unread } from "./connection/unread.js";
import { decodeDeletion, decodeReaction, editEventId } from "./decode/change.js";
import { decodeMessage, isForUs, type Self } from "./decode/message.js";
import {
  bulkDeletePayload,
  channelPayload,
  deletePayload,
  guildPayload,
  interactionPayload,
  type MessagePayload,
  messagePayload,
  reactionPayload,
  readyPayload,
  threadListPayload,
} from "./decode/payloads.js";
import { readMessage } from "./decode/plain-message.js";
import type { Interactions } from "./interactions.js";

interface Context {
  gateway: GatewayPort;
  channels: Channels;
  catchUp: CatchUp;
  interactions: Interactions;
  clock: Clock;
  logger: Logger;
  self(): Self | undefined;
  /** READY named our account. */
  identified(self: Self): void;
  /** Ends the run. */
  fail(error: unknown): void;
}

/** An event that has its place in its session, and is still text. */
interface UnreadEvent {
  session: Session;
  entry: SessionEntry;
  text: string;
  since: number;
}

export class Intake {
  readonly #context: Context;
  readonly #unread: Unread<UnreadEvent>;
  /** The last task of each channel that has one waiting. */
  readonly #tails = new Map<string, Promise<unknown>>();

  constructor(context: Context) {
    this.#context = context;
    this.#unread = new Unread(
      () => context.gateway.room?.(),
      (event) => this.#readLate(event),
      context.clock,
    );
  }

  take(session: Session, payload: GatewayDispatchPayload): void {
    const entry = this.#begin(session, payload.s);
    if (entry) this.#work(session, entry, payload);
  }

  /** Events wait, or the gateway has no room: a frame that comes now may be left unread. */
  mustWait(): boolean {
    return this.#unread.mustWait();
  }

  /** More is unread, or on its way to the disk, than memory should hold: nothing more should be heard for a while. */
  get isTooMuch(): boolean {
    return this.#unread.isTooMuch;
  }

  takeLater(session: Session, sequence: number, text: string): void {
    const entry = this.#begin(session, sequence);
    if (entry) this.#unread.add({ session, entry, text, since: this.#context.clock.now() });
  }

  /** Takes all that is unread, at once. */
  hurry(): void {
    this.#unread.hurry();
  }

  /** Takes in no more events: Discord replays the unread ones to the next connection. */
  close(): void {
    for (const { session } of this.#unread.close()) session.abandon();
  }

  #begin(session: Session, sequence: number): SessionEntry | undefined {
    const entry = session.add(sequence);
    if (!entry || !session.isOverfull) return entry;
    session.abandon();
    this.#context.fail(backlog());
    return undefined;
  }

  #readLate({ session, entry, text }: UnreadEvent): void {
    let payload: GatewayDispatchPayload;
    try {
      payload = JSON.parse(text);
    } catch (error) {
      this.#skip(error, "frame", session, entry);
      return;
    }
    this.#work(session, entry, payload);
  }

  #work(session: Session, entry: SessionEntry, payload: GatewayDispatchPayload): void {
    try {
      const work = this.#handle(payload, entry, `${session.id ?? ""}:${payload.s}`);
      if (!work) {
        session.end(entry);
        return;
      }
      this.#unread.begun();
      work.then(
        () => {
          session.end(entry);
          this.#unread.ended();
        },
        (error) => {
          this.#failed(error, payload.t, session, entry);
          this.#unread.ended();
        },
      );
    } catch (error) {
      this.#skip(error, payload.t, session, entry); // parsing is synchronous, so this is about the payload
    }
  }

  /** A message read over REST. */
  async acceptMissed(payload: MessagePayload, raw: unknown): Promise<void> {
    const self = this.#context.self();
    if (!self) return;
    if (payload.guild_id !== undefined && !this.#context.channels.get(payload.channel_id))
      await this.#context.channels.lookup(payload.channel_id);
    await this.#context.gateway.accept(this.#messageEvent(payload, self, raw));
  }

  /** The event is not on disk: the run ends, and the next one gets it again. */
  #failed(error: unknown, type: string, session: Session, entry: SessionEntry): void {
    if (error instanceof Malformed) {
      this.#skip(error.cause, type, session, entry);
      return;
    }
    session.abandon();
    this.close();
    this.#context.fail(error);
  }

  #skip(error: unknown, type: string, session: Session, entry: SessionEntry): void {
    this.#context.logger.warn({ type, error: errorMessage(error) }, "skipped a malformed Discord event");
    session.end(entry);
  }

  /** A promise when the event must wait for something; undefined when it is done with. */
  #handle(payload: GatewayDispatchPayload, entry: SessionEntry, position: string): Promise<unknown> | undefined {
    const { channels, catchUp, clock } = this.#context;
    const data: unknown = payload.d;
    switch (payload.t) {
      case "READY":
        return this.#ready(data);
      case "GUILD_CREATE":
        return this.#guild(data);
      case "CHANNEL_CREATE":
      case "CHANNEL_UPDATE":
      case "THREAD_CREATE":
      case "THREAD_UPDATE":
        channels.learn(channelPayload.parse(data));
        return undefined;
      case "CHANNEL_DELETE":
      case "THREAD_DELETE":
        channels.forget(channelPayload.pick({ id: true }).parse(data).id);
        return undefined;
      case "THREAD_LIST_SYNC":
        for (const thread of threadListPayload.parse(data).threads) channels.learn(thread);
        return undefined;
      case "MESSAGE_CREATE":
        return this.#message(data, entry);
      case "MESSAGE_UPDATE":
        return this.#edit(data);
      case "MESSAGE_DELETE": {
        const { id, channel_id } = deletePayload.parse(data);
        return this.#inOrder(
          channel_id,
          (self) => decodeDeletion(id, channel_id, self, clock.now()),
          catchUp.gate(channel_id),
        );
      }
      case "MESSAGE_DELETE_BULK": {
        const { ids, channel_id } = bulkDeletePayload.parse(data);
        const gate = catchUp.gate(channel_id);
        return Promise.all(
          ids.map((id) => this.#inOrder(channel_id, (self) => decodeDeletion(id, channel_id, self, clock.now()), gate)),
        );
      }
      case "MESSAGE_REACTION_ADD": {
        const reaction = reactionPayload.parse(data);
        return this.#inOrder(
          reaction.channel_id,
          (self) =>
            reaction.user_id === self.botId ? undefined : decodeReaction(reaction, self, clock.now(), position),
          catchUp.gate(reaction.channel_id),
        );
      }
      case "INTERACTION_CREATE": {
        const self = this.#context.self();
        return self ? this.#context.interactions.take(interactionPayload.parse(data), self, data) : undefined;
      }
      default:
        return undefined;
    }
  }

  /** Notes the owed channel at once, as `#guild` does: the very next message of a channel waits for its older ones. */
  #ready(data: unknown): Promise<void> {
    const { user, application, guilds } = readyPayload.parse(data);
    this.#context.identified({ botId: user.id, botName: user.username, applicationId: application.id });
    return this.#context.catchUp.sessionLost(guilds.map((guild) => guild.id));
  }

  /** Notes the owed channels at once, as `#ready` does. */
  #guild(data: unknown): Promise<void> | undefined {
    const guild = guildPayload.parse(data);
    const self = this.#context.self();
    if (guild.unavailable || !self) return undefined;
    for (const channel of [...guild.channels, ...guild.threads]) this.#context.channels.learn(channel, guild.id);
    const ownRole = guild.roles.find((role) => role.tags?.bot_id === self.botId);
    if (ownRole) this.#context.channels.learnOwnRole(guild.id, ownRole.id);
    return this.#context.catchUp.guildKnown(guild, self.botId);
  }

  #message(data: unknown, entry: SessionEntry): Promise<unknown> | undefined {
    const payload = readMessage(data);
    entry.channelId = payload.channel_id;
    entry.messageId = payload.id;
    const self = this.#context.self();
    if (!self || !isForUs(payload, self)) return undefined;
    if (payload.guild_id === undefined && !payload.author.bot)
      this.#context.channels.learnDm(payload.channel_id, payload.author);
    return this.#inOrder(payload.channel_id, () => this.#messageEvent(payload, self, data), this.#whatItNeeds(payload));
  }

  #edit(data: unknown): Promise<unknown> | undefined {
    const partial = messagePayload.partial().parse(data);
    // No author or no edit time: a link preview, a pin, a flag. No text was written.
    if (!partial.author || partial.content === undefined || !partial.edited_timestamp) return undefined;
    const payload = messagePayload.parse({ type: 0, ...partial });
    const { edited_timestamp: editedAt } = partial;
    const self = this.#context.self();
    if (!self || !isForUs(payload, self)) return undefined;
    return this.#inOrder(
      payload.channel_id,
      () => ({
        kind: "edited",
        eventId: editEventId(payload.id, editedAt),
        message: this.#decode(payload, self, data, true),
      }),
      this.#whatItNeeds(payload),
    );
  }

  /** Older messages first; and the parent of a thread must be known, because access may hang on it. */
  #whatItNeeds(payload: MessagePayload): Promise<unknown> | undefined {
    const { catchUp, channels } = this.#context;
    const { channel_id: channelId, guild_id: guildId } = payload;
    if (guildId === undefined) return catchUp.gate(channelId);
    const gateOf = (parentId: string | undefined) => catchUp.gateOf(channelId, { parentId, guildId });
    const known = channels.get(channelId);
    return known ? gateOf(known.parentId) : channels.lookup(channelId).then((found) => gateOf(found?.parentId));
  }

  /** Decodes and accepts at once, unless this channel has something waiting. Accepting is ordered, its commit is not waited for. */
  #inOrder(
    channelId: string,
    event: (self: Self) => InboundEvent | undefined,
    needs: Promise<unknown> | undefined,
  ): Promise<unknown> | undefined {
    const { gateway } = this.#context;
    const start = (): { accepted: Promise<unknown> | undefined } => {
      const self = this.#context.self();
      const decoded = self && decodeOrSay(event, self);
      return { accepted: decoded && gateway.accept(decoded) };
    };
    const tail = this.#tails.get(channelId);
    if (!tail && !needs) return start().accepted;
    const turn = Promise.all([tail?.catch(() => {}), needs]).then(start); // an earlier failure was reported by its own event
    this.#tails.set(channelId, turn);
    const clear = () => {
      if (this.#tails.get(channelId) === turn) this.#tails.delete(channelId);
    };
    turn.then(clear, clear);
    return turn.then(({ accepted }) => accepted);
  }

  #messageEvent(payload: MessagePayload, self: Self, raw: unknown): InboundEvent {
    return { kind: "message", eventId: payload.id, message: this.#decode(payload, self, raw, false) };
  }

  #decode(payload: MessagePayload, self: Self, raw: unknown, isEdit: boolean) {
    const { channels, clock } = this.#context;
    return decodeMessage(
      payload,
      {
        self,
        parentChatId: channels.parentOf(payload.channel_id),
        ownRoleId: channels.ownRole(payload.guild_id),
        receivedAt: clock.now(),
        raw,
      },
      isEdit,
    );
  }
}

/** A payload that we cannot read, as against a store that cannot take it: the first would come again for ever. */
class Malformed extends Error {}

function decodeOrSay(event: (self: Self) => InboundEvent | undefined, self: Self): InboundEvent | undefined {
  try {
    return event(self);
  } catch (cause) {
    throw new Malformed("a payload that cannot be decoded", { cause });
  }
}

function backlog(): HookgateError {
  return new HookgateError({
    code: "DISCORD_BACKLOG",
    message: "too many Discord events wait for the store",
    hint: "The store is slow or stuck; the connection is resumed when it has caught up.",
    retryable: true,
  });
}
