/**
 * After a lost session Discord replays nothing: messages written meanwhile are read over REST, channel by channel, from the
 * last message seen there, and go through the same inbox. The owed channels are on disk before the new session is, so that a
 * crash half-way only repeats. The reading is bounded by age and by count, and the log reports it.
 */
import { Routes } from "discord-api-types/v10";
import { z } from "zod";
import type { Logger } from "../../../src/lib/logger.js";
import { doubledMs } from "../../../src/lib/time/backoff.js";
import { type Clock, wait } from "../../../src/lib/time/clock.js";
import type { Caller } from "../caller.js";
import {
  ARCHIVING_TYPES,
  archivedThreadsPayload,
  DM_TYPES,
  FORUM_TYPES,
  type GuildPayload,
  type MemberPayload,
  type MessagePayload,
  memberPayload,
  messagePayload,
  TEXT_TYPE,
} from "../decode/payloads.js";
import { readableIn, VIEW_CHANNEL } from "../permissions.js";
import { Limited, UnreadableAnswer } from "../rest/errors.js";
import { describeFailure, isGone, isHiddenOrGone } from "../rest/outcome.js";
import { InvalidRequestPause } from "../rest/refusals.js";
import { isNewer, newest, oldest, snowflakeAt, snowflakeTime } from "../snowflake.js";
import type { Ledger } from "./ledger.js";

/** https://discord.com/developers/docs/resources/message#get-channel-messages */
const PAGE = 100;
const CHANNELS_AT_ONCE = 3;
const ATTEMPTS = 5;
const PAUSE = { firstMs: 1_000, maxMs: 8_000 };
/** A channel that could not be read is tried again so much later. */
const RETRY_MS = 60_000;
/** Reads of a channel that do not reach the newest message that Discord named. After so many it counts as deleted. */
const SHORT_READS = 3;
const GONE = Symbol("gone");
/** The closed threads of this channel are owed: GUILD_CREATE does not list them. */
const ARCHIVE = "archive-of-";

const gap = z.object({ since: z.string(), guilds: z.array(z.string()) });
const owedEntry = z.object({
  after: z.string(),
  guildId: z.string().optional(),
  hasPrivate: z.boolean().optional(),
  /** The newest message there, as Discord named it. */
  last: z.string().optional(),
  /** When it came to be owed, in ms. */
  at: z.number().optional(),
});
type Owed = z.infer<typeof owedEntry>;

/** Why a channel cannot be read. */
export interface Unreachable {
  reason: string;
  /** Permissions of the bot may be why. */
  mayBePermissions: boolean;
}

export interface CatchUpPort {
  /** Takes a message into the inbox; resolves when it is on disk. `raw`: as it came. */
  accept(payload: MessagePayload, raw: unknown): Promise<void>;
  /** False for messages that no person wrote and for our own. */
  isForUs(payload: MessagePayload): boolean;
  /** Why channels cannot be read, by channel; called when it changes. */
  unreachable(reasons: ReadonlyMap<string, Unreachable>): void;
}

/** Discord named a message in the channel, and does not show it. */
class CutShort extends Error {}

interface Context {
  caller: Caller;
  ledger: Ledger;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  limits: { maxAgeMs: number; maxMessages: number };
  port: CatchUpPort;
}

export class CatchUp {
  readonly #context: Context;
  /** Channels whose new messages must wait for their old ones. */
  readonly #gates = new Map<string, { done: Promise<void>; open: () => void }>();
  readonly #queue: string[] = [];
  /** Channels that became owed, perhaps again, and whose reading has not started since. */
  readonly #toRead = new Set<string>();
  readonly #members = new Map<string, Promise<MemberPayload | undefined>>();
  /** Channels that are owed because a message was written there. */
  readonly #touched = new Set<string>();
  /** Why a channel could not be read last time. */
  readonly #troubles = new Map<string, Unreachable>();
  readonly #shortReads = new Map<string, number>();
  #workers = 0;
  #tally = { messages: 0, channels: 0 };

  constructor(context: Context) {
    this.#context = context;
    // Channels that an earlier process did not finish.
    for (const { key } of context.ledger.list("owed:")) this.#owe(key.slice("owed:".length));
  }

  /** Pending while older messages of this channel are being read. */
  gate(channelId: string): Promise<void> | undefined {
    return this.#gates.get(channelId)?.done;
  }

  /**
   * Like `gate`, for a new message. Its channel may be owed without being known as owed yet: its guild has not listed its channels,
   * or it is a thread that was closed in the gap and reopened before the closed ones were listed.
   */
  gateOf(channelId: string, where: { parentId: string | undefined; guildId: string }): Promise<void> | undefined {
    const missed = this.#touched.has(channelId) ? undefined : this.#gapOf(channelId, where);
    if (missed) {
      this.#touched.add(channelId);
      this.#note(channelId, missed);
      this.#start();
    }
    return this.gate(channelId);
  }

  #gapOf(
    channelId: string,
    { parentId, guildId }: { parentId: string | undefined; guildId: string },
  ): Owed | undefined {
    const { ledger } = this.#context;
    const listing = parseJson(owedEntry, ledger.get(`owed:${ARCHIVE}${parentId ?? ""}`));
    if (listing) return { after: listing.after, guildId };
    const open = parseJson(gap, ledger.get("gap"));
    if (!open?.guilds.includes(guildId)) return undefined;
    return { after: ledger.get(`seen:${channelId}`) ?? open.since, guildId };
  }

  /** A new session started. Resolves when the channels that it owes are on disk. */
  async sessionLost(guildIds: readonly string[]): Promise<void> {
    const { ledger, clock, limits, logger } = this.#context;
    const unfinished = parseJson(gap, ledger.get("gap"));
    const lastSeen = ledger.get("seen");
    const since = unfinished && lastSeen !== undefined ? oldest(unfinished.since, lastSeen) : lastSeen;
    if (since === undefined) {
      // The first session ever: history is not ours to answer.
      ledger.note("seen", snowflakeAt(clock.now()));
    } else if (limits.maxMessages > 0) {
      logger.warn(
        { since, guilds: guildIds.length },
        "Discord could not resume the session; reading what was missed over REST",
      );
      ledger.note("gap", JSON.stringify({ since, guilds: guildIds }));
      for (const { key } of ledger.list("dm:")) {
        const channelId = key.slice("dm:".length);
        this.#note(channelId, { after: ledger.get(`seen:${channelId}`) ?? since });
      }
    }
    await ledger.flush();
    this.#start();
  }

  /** A guild listed its channels. When it is part of a gap, its channels with news are owed; resolves when that is on disk. */
  async guildKnown(guild: GuildPayload, botId: string): Promise<void> {
    const { ledger } = this.#context;
    const open = parseJson(gap, ledger.get("gap"));
    if (!open?.guilds.includes(guild.id)) return;
    const isReadable = readableIn(guild, botId);
    const isSeen = readableIn(guild, botId, VIEW_CHANNEL);
    const withoutHistory: string[] = [];
    for (const channel of [...guild.channels, ...guild.threads]) {
      const { id, last_message_id: last, type } = channel;
      if (!last || FORUM_TYPES.has(type) || DM_TYPES.has(type)) continue;
      const after = ledger.get(`seen:${id}`) ?? open.since;
      if (!isNewer(last, after)) continue;
      if (isReadable(channel)) this.#note(id, { after, guildId: guild.id, last });
      else if (isSeen(channel)) withoutHistory.push(channel.name ?? id);
    }
    if (withoutHistory.length > 0)
      this.#context.logger.warn(
        { channels: withoutHistory, hint: "Give the bot the permission Read Message History there." },
        "what was missed in these Discord channels cannot be read: the bot lacks Read Message History",
      );
    for (const channel of guild.channels)
      if (ARCHIVING_TYPES.has(channel.type) && isReadable(channel))
        this.#note(`${ARCHIVE}${channel.id}`, {
          after: open.since,
          guildId: guild.id,
          hasPrivate: channel.type === TEXT_TYPE,
        });
    const guilds = open.guilds.filter((id) => id !== guild.id);
    ledger.note("gap", guilds.length === 0 ? undefined : JSON.stringify({ since: open.since, guilds }));
    await ledger.flush();
    this.#start();
  }

  /** Starts the reading that an earlier process left over. */
  resume(): void {
    this.#start();
  }

  /** Messages that an earlier session left owed go further back, and stay owed. */
  #note(channelId: string, owed: Owed): void {
    const { ledger } = this.#context;
    const earlier = parseJson(owedEntry, ledger.get(`owed:${channelId}`));
    const after = earlier ? oldest(earlier.after, owed.after) : owed.after;
    ledger.note(`owed:${channelId}`, JSON.stringify({ ...owed, after, at: this.#context.clock.now() }));
    this.#shortReads.delete(channelId);
    this.#owe(channelId);
  }

  #owe(channelId: string): void {
    this.#toRead.add(channelId);
    if (this.#gates.has(channelId)) return;
    let open = () => {};
    const done = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#gates.set(channelId, { done, open });
    this.#queue.push(channelId);
  }

  #start(): void {
    while (this.#workers < CHANNELS_AT_ONCE && this.#queue.length > 0) {
      this.#workers++;
      void this.#work().finally(() => {
        this.#workers--;
        if (this.#workers === 0 && this.#queue.length === 0) this.#report();
      });
    }
  }

  #report(): void {
    if (this.#tally.channels > 0)
      this.#context.logger.info({ ...this.#tally }, "caught up with what was missed on Discord");
    this.#tally = { messages: 0, channels: 0 };
    this.#members.clear();
    this.#touched.clear();
  }

  async #work(): Promise<void> {
    const { ledger, logger, signal } = this.#context;
    for (let channelId = this.#queue.shift(); channelId !== undefined; channelId = this.#queue.shift()) {
      try {
        // A new session may owe the channel again while it is read: messages between the two were in no page and in no event.
        while (this.#toRead.delete(channelId)) {
          const owed = parseJson(owedEntry, ledger.get(`owed:${channelId}`));
          if (owed && channelId.startsWith(ARCHIVE)) await this.#listArchived(channelId.slice(ARCHIVE.length), owed);
          else if (owed && (await this.#read(channelId, owed))) this.#tally.channels++;
        }
        ledger.note(`owed:${channelId}`, undefined);
        this.#shortReads.delete(channelId);
        this.#trouble(channelId, undefined);
      } catch (error) {
        // The cursor stays. New messages of the channel must not wait for the next try.
        if (!signal.aborted) {
          const reason = error instanceof CutShort ? error.message : describeFailure(error);
          if (this.#troubles.get(channelId)?.reason !== reason)
            logger.error(
              { channelId, error: reason },
              "could not read what was missed in a Discord channel; it is tried again every minute",
            );
          this.#trouble(channelId, { reason, mayBePermissions: error instanceof CutShort || isHiddenOrGone(error) });
          this.#retryLater(channelId);
        }
      }
      this.#gates.get(channelId)?.open();
      this.#gates.delete(channelId);
    }
  }

  /** `key`: a channel, or the closed threads of one, each with a trouble of its own. */
  #trouble(key: string, trouble: Unreachable | undefined): void {
    if (this.#troubles.get(key)?.reason === trouble?.reason) return;
    if (trouble === undefined) this.#troubles.delete(key);
    else this.#troubles.set(key, trouble);
    const byChannel = [...this.#troubles].map(([owed, why]) => [owed.replace(ARCHIVE, ""), why] as const);
    this.#context.port.unreachable(new Map(byChannel));
  }

  #retryLater(channelId: string): void {
    const { clock, signal } = this.#context;
    wait(clock, RETRY_MS, signal).then(
      () => {
        this.#toRead.add(channelId);
        this.#queue.push(channelId);
        this.#start();
      },
      () => {}, // the run has ended; the next one tries again
    );
  }

  /** False when there is nothing to read any more: the channel is gone, or could not be read until all was too old. */
  async #read(channelId: string, owed: Owed): Promise<boolean> {
    const { clock, limits, ledger, logger } = this.#context;
    if (owed.at !== undefined && clock.now() - owed.at > limits.maxAgeMs) {
      logger.warn({ channelId }, "what was missed in a Discord channel could not be read within catch_up.max_age");
      return false;
    }
    let after = newest(owed.after, snowflakeAt(clock.now() - limits.maxAgeMs));
    if (after !== owed.after) logger.warn({ channelId, after }, "missed messages older than catch_up.max_age are left");
    for (let taken = 0; taken < limits.maxMessages; ) {
      const limit = Math.min(PAGE, limits.maxMessages - taken);
      const page = await this.#page(channelId, after, limit, owed.guildId === undefined);
      if (page === undefined) {
        this.#countShortRead(
          channelId,
          owed.last,
          "Discord reports that the channel is gone, though it named a message there",
        );
        logger.warn({ channelId }, "a Discord channel with missed messages is gone");
        return false;
      }
      for (const raw of page) {
        const parsed = messagePayload.safeParse(raw);
        if (!parsed.success) {
          logger.warn({ channelId }, "skipped a malformed message while catching up");
          after = newest(after, idOf(raw) || after);
          continue;
        }
        await this.#take(parsed.data, owed, raw);
        after = newest(after, parsed.data.id);
        ledger.noteSeen(channelId, after);
        const present = parseJson(owedEntry, ledger.get(`owed:${channelId}`)) ?? owed;
        ledger.note(`owed:${channelId}`, JSON.stringify({ ...present, after }));
      }
      taken += page.length;
      if (page.length < limit) {
        if (owed.last === undefined || !isNewer(owed.last, after)) return true;
        // Without Read Message History it shows no message at all.
        this.#countShortRead(
          channelId,
          owed.last,
          "Discord did not show its newest message; the bot may lack Read Message History there",
        );
        logger.warn(
          { channelId, hint: "If messages are missing, give the bot the permission Read Message History there." },
          "Discord shows no newer missed messages in a channel, though it named one: it was deleted, or the bot may not read the history",
        );
        return true;
      }
    }
    logger.warn(
      { channelId, limit: limits.maxMessages },
      "more was missed than catch_up.max_messages; the rest is left",
    );
    return true;
  }

  /** Throws, so that the channel is read again, until its newest message was missing so often that Discord is believed. */
  #countShortRead(channelId: string, last: string | undefined, reason: string): void {
    if (last === undefined) return;
    const reads = (this.#shortReads.get(channelId) ?? 0) + 1;
    this.#shortReads.set(channelId, reads);
    if (reads < SHORT_READS) throw new CutShort(reason);
  }

  /** Closed threads with messages of the gap are owed. The public list has first what was archived last, the private list the newest thread. */
  async #listArchived(parentId: string, owed: Owed): Promise<void> {
    const { clock, limits } = this.#context;
    const { hasPrivate, ...gap } = owed;
    const after = newest(gap.after, snowflakeAt(clock.now() - limits.maxAgeMs));
    for (let before: string | undefined; ; ) {
      const threads = await this.#archived(Routes.channelThreads(parentId, "public"), before);
      for (const { id, last_message_id: last } of threads)
        if (last && isNewer(last, after)) this.#note(id, { ...gap, last });
      before = threads.at(-1)?.thread_metadata.archive_timestamp;
      if (threads.length < PAGE || before === undefined || Date.parse(before) < snowflakeTime(after)) break;
    }
    if (hasPrivate !== true) return;
    for (const { id, last_message_id: last } of await this.#archived(Routes.channelJoinedArchivedThreads(parentId)))
      if (last && isNewer(last, after)) this.#note(id, { ...gap, last });
  }

  /** https://discord.com/developers/docs/resources/channel#list-public-archived-threads */
  async #archived(route: `/${string}`, before?: string) {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (before !== undefined) query.set("before", before);
    const answer = await unlessHidden(this.#get(route, query));
    if (answer === undefined) return [];
    const parsed = archivedThreadsPayload.safeParse(answer);
    if (!parsed.success) throw new UnreadableAnswer();
    return parsed.data.threads;
  }

  /** Adds the guild and the member to a message: REST messages come without them, and both decide on permissions. */
  async #take(message: MessagePayload, owed: Owed, raw: unknown): Promise<void> {
    const { port } = this.#context;
    if (!port.isForUs(message)) return;
    if (owed.guildId !== undefined) {
      message.guild_id = owed.guildId;
      if (!message.author.bot && message.webhook_id === undefined) {
        const member = await this.#member(owed.guildId, message.author.id);
        if (member) message.member = member;
      }
    }
    this.#tally.messages++;
    await port.accept(message, raw);
  }

  #member(guildId: string, userId: string): Promise<MemberPayload | undefined> {
    const key = `${guildId}:${userId}`;
    let member = this.#members.get(key);
    if (!member) {
      member = unlessHidden(this.#get(Routes.guildMember(guildId, userId))).then(
        (raw) => memberPayload.safeParse(raw).data,
      );
      this.#members.set(key, member);
    }
    return member;
  }

  /** Oldest first; undefined when the channel is gone. No permission opens direct messages that are hidden. */
  async #page(channelId: string, after: string, limit: number, isDm: boolean): Promise<unknown[] | undefined> {
    const query = new URLSearchParams({ after, limit: String(limit) });
    const page = await this.#get(Routes.channelMessages(channelId), query).catch((error: unknown) => {
      if (isGone(error) || (isDm && isHiddenOrGone(error))) return GONE;
      throw error;
    });
    if (page === GONE) return undefined;
    if (!Array.isArray(page)) throw new UnreadableAnswer();
    return page.sort((a, b) => (isNewer(idOf(a), idOf(b)) ? 1 : -1));
  }

  /** After trouble it tries again, `ATTEMPTS` times in all. Limits are waited out, however often. */
  async #get(route: `/${string}`, query?: URLSearchParams): Promise<unknown> {
    const { caller, clock, signal } = this.#context;
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      try {
        return await caller.get(route, query ? { query } : {});
      } catch (error) {
        const isPaced = error instanceof Limited || error instanceof InvalidRequestPause;
        if (!isPaced && (attempt >= ATTEMPTS || isHiddenOrGone(error))) throw error;
        if (isPaced) attempt--; // a limit is no failure
        await wait(clock, isPaced ? pauseOf(error) : doubledMs(PAUSE, attempt), signal);
      }
    }
  }
}

const idOf = (raw: unknown) => String(Object(raw).id ?? "");

/** Undefined for a resource that Discord hides from us, or that is gone. */
async function unlessHidden(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (isHiddenOrGone(error)) return undefined;
    throw error;
  }
}

function pauseOf(error: Limited | InvalidRequestPause): number {
  return error instanceof Limited ? error.afterMs + 10 : error.afterMs;
}

function parseJson<T>(schema: z.ZodType<T>, text: string | undefined): T | undefined {
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined; // of another version: treated as absent
  }
}
