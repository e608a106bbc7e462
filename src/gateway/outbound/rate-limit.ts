/**
 * Keeps us under a platform's limits. Exact sliding windows instead of refilling buckets: a bucket of N that refills N per
 * second lets 2 N through in its first second, and platforms count.
 */
import type { Adapter } from "../../domain/adapter.js";
import type { Address } from "../../domain/address.js";
import { PerKey } from "../../lib/per-key.js";

/** Requests reach the platform a little closer together than they left us. */
const SLACK = 1.02;
const MAX_CHATS = 10_000;
const UNUSED_MS = 5_000;

/** At most `limit` in any `lengthMs`: the times of the last `limit` requests, in a ring. */
class Window {
  readonly #times: number[] = [];
  readonly #limit: number;
  readonly #lengthMs: number;
  #oldest = 0;
  lastAt = 0;

  constructor(limit: number, lengthMs: number) {
    // Less than one in the window: one in a longer window.
    this.#limit = Math.max(1, Math.floor(limit));
    this.#lengthMs = (limit < 1 ? lengthMs / limit : lengthMs) * SLACK;
  }

  /** When the next request may go. */
  freeAt(now: number): number {
    if (this.#times.length < this.#limit) return now;
    return Math.max(now, Math.ceil((this.#times[this.#oldest] as number) + this.#lengthMs));
  }

  /** Counts a request at that time. Gives its place in the ring. */
  take(at: number): number {
    this.lastAt = at;
    if (this.#times.length < this.#limit) return this.#times.push(at) - 1;
    const place = this.#oldest;
    this.#times[place] = at;
    this.#oldest = (place + 1) % this.#limit;
    return place;
  }

  /** The request in that place is written later than it was counted. */
  moveTo(place: number, at: number): void {
    this.lastAt = Math.max(this.lastAt, at);
    if ((this.#times[place] ?? at) < at) this.#times[place] = at;
  }
}

interface ChatWindows {
  perSecond?: Window;
  perMinute?: Window;
  /** Other ones count for this chat now. */
  isForgotten?: true;
}

/** A conversation's next request. */
interface Ticket {
  at: number;
  /** Where it is counted, the last one first. */
  place: Place | undefined;
  places: number;
}

interface Place {
  window: Window;
  index: number;
  before: Place | undefined;
}

interface Conversation {
  /** Of its chat, which it may share with other conversations; undefined until it is looked for. */
  chat: ChatWindows | undefined;
  ticket: Ticket | undefined;
}

export class RateLimiter {
  readonly #platforms = new Map<string, Window>();
  readonly #chats = new Map<string, ChatWindows>();
  readonly #conversations = new PerKey<Conversation>(
    () => ({ chat: undefined, ticket: undefined }),
    ({ ticket }) => ticket === undefined,
  );

  /** `now` when the request may go at once (and is counted), else when to ask again. */
  take(adapter: Adapter, at: Address, name: string, now: number): number {
    const { perSecond, perChatPerSecond, perGroupPerMinute } = adapter.traits.limits;
    if (!Number.isFinite(perSecond) && perChatPerSecond === undefined && perGroupPerMinute === undefined) return now;
    const conversation = this.#conversations.of(name);
    if (conversation.chat === undefined || conversation.chat.isForgotten)
      conversation.chat = this.#chat(adapter, at, now);
    const { chat } = conversation;
    const chatFreeAt = Math.max(chat.perSecond?.freeAt(now) ?? now, chat.perMinute?.freeAt(now) ?? now);
    if (chatFreeAt > now) return chatFreeAt;
    const ticket = this.#ticket(adapter, conversation, now);
    if (ticket.at > now) return ticket.at;
    if (chat.perSecond) count(ticket, chat.perSecond, now);
    if (chat.perMinute) count(ticket, chat.perMinute, now);
    return now;
  }

  /** The request is being written now: what was counted at `take` may be some disk writes old. */
  writing(name: string, now: number): void {
    const conversation = this.#conversations.of(name);
    const { ticket } = conversation;
    if (!ticket) return;
    conversation.ticket = undefined;
    for (let { place } = ticket; place; place = place.before) place.window.moveTo(place.index, now);
  }

  /** Its place among all requests to the platform, kept for a conversation until its time comes. */
  #ticket(adapter: Adapter, conversation: Conversation, now: number): Ticket {
    const known = conversation.ticket;
    // One whose time came and went unused (the delivery expired) counted for nothing.
    if (known && known.places <= 1 && known.at >= now - UNUSED_MS) return known;
    const ticket: Ticket = { at: now, place: undefined, places: 0 };
    if (Number.isFinite(adapter.traits.limits.perSecond)) {
      const window = this.#platform(adapter);
      ticket.at = window.freeAt(now);
      count(ticket, window, ticket.at);
    }
    conversation.ticket = ticket;
    return ticket;
  }

  #platform(adapter: Adapter): Window {
    let window = this.#platforms.get(adapter.platform);
    if (!window) {
      window = new Window(adapter.traits.limits.perSecond, 1_000);
      this.#platforms.set(adapter.platform, window);
    }
    return window;
  }

  #chat(adapter: Adapter, { platform, chatId }: Address, now: number): ChatWindows {
    const { perChatPerSecond, perGroupPerMinute } = adapter.traits.limits;
    const isGroup = perGroupPerMinute !== undefined && adapter.traits.isGroup(chatId);
    if (perChatPerSecond === undefined && !isGroup) return NO_LIMITS;
    const key = `${platform}:${chatId}`;
    let windows = this.#chats.get(key);
    if (!windows) {
      if (this.#chats.size >= MAX_CHATS) this.#forgetQuiet(now);
      windows = {
        ...(perChatPerSecond === undefined ? {} : { perSecond: new Window(perChatPerSecond, 1_000) }),
        ...(isGroup ? { perMinute: new Window(perGroupPerMinute, 60_000) } : {}),
      };
      this.#chats.set(key, windows);
    }
    return windows;
  }

  #forgetQuiet(now: number): void {
    for (const [key, chat] of this.#chats) {
      if (Math.max(chat.perSecond?.lastAt ?? 0, chat.perMinute?.lastAt ?? 0) >= now - 65_000) continue;
      chat.isForgotten = true;
      this.#chats.delete(key);
    }
  }
}

const NO_LIMITS: ChatWindows = {};

function count(ticket: Ticket, window: Window, at: number): void {
  ticket.place = { window, index: window.take(at), before: ticket.place };
  ticket.places++;
}
