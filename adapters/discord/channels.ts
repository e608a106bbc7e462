/**
 * Facts about channels: the parent of each thread, and the person at the other end of a DM. They come from the gateway's own
 * events and are bounded; missing facts are read over REST (a resumed session gets none).
 */
import { Routes } from "discord-api-types/v10";
import { dmName } from "../../src/domain/chat/dm-name.js";
import type { Logger } from "../../src/lib/logger.js";
import { backoffMs } from "../../src/lib/time/backoff.js";
import { type Clock, wait } from "../../src/lib/time/clock.js";
import type { Caller } from "./caller.js";
import type { Ledger } from "./connection/ledger.js";
import { type ChannelPayload, channelPayload, DM_TYPES, FORUM_TYPES, THREAD_TYPES } from "./decode/payloads.js";
import { DM_PREFIX } from "./dm.js";
import { Limited, UnreadableAnswer } from "./rest/errors.js";
import { describeFailure, isHiddenOrGone } from "./rest/outcome.js";

const MAX_CHANNELS = 20_000;
/** After so many a failed lookup is logged. */
const LOOKUP_ATTEMPTS = 4;
const LOOKUP_PAUSE = { firstMs: 500, maxMs: 30_000 };

interface Person {
  id: string;
  global_name?: string | null | undefined;
  username?: string | undefined;
}

export interface KnownChannel {
  isForum: boolean;
  name?: string;
  /** Set for threads and forum posts. */
  parentId?: string;
}

/** How long Discord's answer about a channel is used: permissions change without notice to us. */
const WORD_HOLDS_MS = 10 * 60_000;

export class Channels {
  readonly #caller: Caller;
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  /** In order of insertion, so that the oldest goes first. */
  readonly #known = new Map<string, KnownChannel>();
  readonly #ownRoles = new Map<string, string>();
  readonly #dmByUser = new Map<string, string>();
  /** Channels that are DMs: asked for with every send. */
  readonly #dms = new Set<string>();
  /** Channels in which we may not reply, and until when that is believed. */
  readonly #noHistory = new Map<string, number>();
  /** Channels in which Discord refused a card, and until when that is believed. */
  readonly #noEmbeds = new Map<string, number>();
  readonly #lookups = new Map<string, Promise<KnownChannel | undefined>>();

  constructor(caller: Caller, ledger: Ledger, clock: Clock, logger: Logger, signal: AbortSignal) {
    this.#caller = caller;
    this.#ledger = ledger;
    this.#clock = clock;
    this.#logger = logger;
    this.#signal = signal;
    for (const { key, value } of ledger.list("dm:")) {
      const channelId = key.slice("dm:".length);
      this.#dmByUser.set(value, channelId);
      this.#dms.add(channelId);
    }
  }

  learn(channel: ChannelPayload, guildId = channel.guild_id): void {
    if (DM_TYPES.has(channel.type)) {
      const person = channel.recipients?.[0];
      if (channel.type === 1 && person) this.learnDm(channel.id, person);
      return;
    }
    const known: KnownChannel = { isForum: FORUM_TYPES.has(channel.type) };
    if (channel.name) known.name = channel.name;
    if (THREAD_TYPES.has(channel.type) && channel.parent_id) known.parentId = channel.parent_id;
    this.#known.delete(channel.id);
    this.#known.set(channel.id, known);
    // On disk, for links to messages after a session was resumed. Threads have their parent's.
    if (guildId !== undefined && known.parentId === undefined && this.#ledger.get(`guild:${channel.id}`) !== guildId)
      this.#ledger.note(`guild:${channel.id}`, guildId);
    if (known.parentId === undefined) this.#keepName(channel.id, known.name);
    else this.#keepParent(channel.id, known.parentId);
    // On disk, because a resumed session does not get it, and a post in a forum that a crash cut off needs it.
    if (known.isForum !== (this.#ledger.get(`forum:${channel.id}`) !== undefined))
      this.#ledger.note(`forum:${channel.id}`, known.isForum ? "yes" : undefined);
    if (this.#known.size > MAX_CHANNELS)
      for (const oldest of this.#known.keys()) return void this.#known.delete(oldest);
  }

  forget(channelId: string): void {
    this.#known.delete(channelId);
    this.#ledger.note(`seen:${channelId}`, undefined);
    this.#keepName(channelId, undefined);
    this.#keepParent(channelId, undefined);
    if (this.#ledger.get(`guild:${channelId}`) !== undefined) this.#ledger.note(`guild:${channelId}`, undefined);
    if (this.#ledger.get(`forum:${channelId}`) !== undefined) this.#ledger.note(`forum:${channelId}`, undefined);
  }

  /** On disk: a resumed session gets no names. */
  #keepName(channelId: string, name: string | undefined): void {
    if (this.#ledger.get(`name:${channelId}`) !== name) this.#ledger.note(`name:${channelId}`, name);
  }

  /** On disk, because a hook that is for a channel is for its threads, too, also in a resumed session. */
  #keepParent(threadId: string, parentId: string | undefined): void {
    if (this.#ledger.get(`parent:${threadId}`) !== parentId) this.#ledger.note(`parent:${threadId}`, parentId);
  }

  /** A thread that we opened: posts in it do not wait until Discord reports it. */
  learnThread(threadId: string, parentId: string): void {
    if (this.#known.has(threadId)) return;
    this.#known.set(threadId, { isForum: false, parentId });
    this.#keepParent(threadId, parentId);
  }

  parentOf(channelId: string): string | undefined {
    if (this.#dms.has(channelId)) return undefined;
    const known = this.#known.get(channelId);
    return known ? known.parentId : this.#ledger.get(`parent:${channelId}`);
  }

  /** The guild of a channel or thread; undefined for DMs and for unknown channels. */
  guildOf(channelId: string): string | undefined {
    const parent = this.parentOf(channelId);
    return this.#ledger.get(`guild:${channelId}`) ?? (parent && this.#ledger.get(`guild:${parent}`));
  }

  /** `#support`, `#support › order 12` for a thread, `direct messages with Ann`; undefined where the name is not known. */
  nameOf(chatId: string, threadId: string | undefined): string | undefined {
    const dm = chatId.startsWith(DM_PREFIX) ? this.#dmByUser.get(chatId.slice(DM_PREFIX.length)) : chatId;
    if (dm !== undefined && this.#dms.has(dm)) {
      const person = this.#ledger.get(`name:${dm}`);
      return person && dmName(person);
    }
    const name = this.#known.get(chatId)?.name ?? this.#ledger.get(`name:${chatId}`);
    const thread = threadId === undefined ? undefined : this.#known.get(threadId)?.name;
    return name && `#${name}${thread === undefined ? "" : ` › ${thread}`}`;
  }

  get(channelId: string): KnownChannel | undefined {
    return this.#known.get(channelId);
  }

  isForum(channelId: string): boolean {
    if (this.#dms.has(channelId)) return false;
    return this.#known.get(channelId)?.isForum ?? this.#ledger.get(`forum:${channelId}`) !== undefined;
  }

  /** False where Discord refused a reply lately: each refusal counts towards its ban. */
  mayReplyIn(channelId: string): boolean {
    return !holds(this.#noHistory, channelId, this.#clock.now());
  }

  noteNoHistory(channelId: string): void {
    this.#noHistory.set(channelId, this.#clock.now() + WORD_HOLDS_MS);
  }

  /** False where Discord refused a card lately. */
  mayEmbedIn(channelId: string): boolean {
    return !holds(this.#noEmbeds, channelId, this.#clock.now());
  }

  noteNoEmbeds(channelId: string): void {
    this.#noEmbeds.set(channelId, this.#clock.now() + WORD_HOLDS_MS);
  }

  learnOwnRole(guildId: string, roleId: string): void {
    this.#ownRoles.set(guildId, roleId);
  }

  ownRole(guildId: string | undefined): string | undefined {
    return guildId === undefined ? undefined : this.#ownRoles.get(guildId);
  }

  learnDm(channelId: string, { id: userId, global_name, username }: Person): void {
    const name = global_name ?? username;
    if (name !== undefined) this.#keepName(channelId, name);
    if (this.#dmByUser.get(userId) === channelId) return;
    this.#dmByUser.set(userId, channelId);
    this.#dms.add(channelId);
    // Discord lists no direct conversations: one that is not on disk at a crash is not looked into after it.
    this.#ledger.noteNow(`dm:${channelId}`, userId);
  }

  dmOf(userId: string): string | undefined {
    return this.#dmByUser.get(userId);
  }

  isDm(channelId: string): boolean {
    return this.#dms.has(channelId);
  }

  /** Asks Discord until it answers. Undefined when the channel is hidden from us or gone; rejects when the run ends. */
  lookup(channelId: string): Promise<KnownChannel | undefined> {
    const running = this.#lookups.get(channelId);
    if (running) return running;
    const lookup = this.#ask(channelId).finally(() => this.#lookups.delete(channelId));
    this.#lookups.set(channelId, lookup);
    return lookup;
  }

  async #ask(channelId: string): Promise<KnownChannel | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        const channel = channelPayload.safeParse(await this.#caller.get(Routes.channel(channelId)));
        if (channel.success) this.learn(channel.data);
        else if (attempt < LOOKUP_ATTEMPTS) throw new UnreadableAnswer();
        else this.#known.set(channelId, { isForum: false }); // of a shape that we do not know: as if hidden
        return this.#known.get(channelId);
      } catch (error) {
        if (isHiddenOrGone(error)) {
          this.#known.set(channelId, { isForum: false });
          return undefined;
        }
        // Nothing was asked: that is no attempt.
        if (error instanceof Limited && !error.wasAsked) {
          attempt--;
          await wait(this.#clock, error.afterMs, this.#signal);
          continue;
        }
        // The messages of this channel wait; the connection and the other channels do not.
        if (attempt >= LOOKUP_ATTEMPTS)
          this.#logger.warn(
            { channelId, error: describeFailure(error) },
            "could not ask Discord about a channel; its messages wait, and it is asked again after a pause",
          );
        await wait(this.#clock, backoffMs(LOOKUP_PAUSE, attempt), this.#signal);
      }
    }
  }
}

function holds(words: Map<string, number>, channelId: string, now: number): boolean {
  if (words.size === 0) return false;
  for (const [key, until] of words) if (until <= now) words.delete(key);
  return words.has(channelId);
}
