/**
 * Keeps us under a platform's limits. Exact sliding windows instead of refilling buckets: a bucket of N that refills N per
 * second lets 2 N through in its first second, and platforms count.
 */
import type { Adapter } from "../../../domain/chat/adapter.js";
import type { Address } from "../../../domain/chat/address.js";
import type { Delivery, DeliveryUrgency } from "../../../domain/store.js";
import { PerKey } from "../../../lib/concurrency/per-key.js";

/** Requests reach the platform a little closer together than they left us. */
const SLACK = 1.02;
const MAX_CHATS = 10_000;
const UNUSED_MS = 5_000;
/** The share of a group's minute that changes which may come later take at most, so that new messages find places in every minute. */
const SHARE_OF_LATER = 1 / 2;
/** How long others leave a free place to a more urgent request that waits for one, and how soon they ask again. */
const YIELD_MS = 1_000;
const RETRY_DELAY_MS = 50;

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

/** The higher goes first: those of `DeliveryUrgency`, and any other request between `later` and `urgent`. */
export type Urgency = 0 | 1 | 2 | 3;
const USUAL: Urgency = 2;
const URGENCIES = { last: 0, later: 1, urgent: 3 } as const satisfies Record<DeliveryUrgency, Urgency>;

export function urgencyOf({ urgency }: Pick<Delivery, "urgency">): Urgency {
  return urgency === undefined ? USUAL : URGENCIES[urgency];
}

interface ChatWindows {
  perSecond?: Window;
  perMinute?: Window;
  /** For changes that may come later. */
  laterPerMinute?: Window;
  /** The most urgent request that waits has the next place, free at that time. */
  first?: { name: string; at: number; urgency: Urgency } | undefined;
  /** Other ones count for this chat now. */
  isForgotten?: true;
}

/** A request: when it may go, and where it is counted once it goes. */
export interface Ticket {
  at: number;
  platform: Window | undefined;
  platformPlace: number;
  chat: ChatWindows;
  secondPlace: number;
  minutePlace: number;
}

interface Conversation {
  /** The windows of its chat, which it may share with other conversations; undefined until they are looked up. */
  chat: ChatWindows | undefined;
  /** The ticket of its next request, which waits for its place among all requests to the platform. */
  waiting: Ticket | undefined;
}

export class RateLimiter {
  readonly #platforms = new Map<string, Window>();
  readonly #chats = new Map<string, ChatWindows>();
  readonly #conversations = new PerKey<Conversation>(
    () => ({ chat: undefined, waiting: undefined }),
    ({ waiting }) => waiting === undefined,
  );

  /**
   * The request may go at once when `at` of its ticket is not after `now` (and is counted), else it is to ask again then. A deletion needs
   * no place in the minute of a group: that counts messages.
   */
  take(adapter: Adapter, at: Address, name: string, now: number, urgency = USUAL, isDeletion = false): Ticket {
    const conversation = this.#conversations.of(name);
    if (conversation.chat === undefined || conversation.chat.isForgotten)
      conversation.chat = this.#chat(adapter, at, now);
    const chat: ChatWindows = isDeletion ? { perSecond: conversation.chat.perSecond } : conversation.chat;
    const later = urgency < USUAL ? chat.laterPerMinute : undefined;
    const chatFreeAt = Math.max(
      chat.perSecond?.freeAt(now) ?? now,
      chat.perMinute?.freeAt(now) ?? now,
      later?.freeAt(now) ?? now,
    );
    const { first } = chat;
    if (chatFreeAt > now) {
      if (urgency > (first?.urgency ?? 0)) chat.first = { name, at: chatFreeAt, urgency };
      return newTicket(chatFreeAt, chat);
    }
    if (first !== undefined && first.name !== name && urgency < first.urgency && now < first.at + YIELD_MS)
      return newTicket(now + RETRY_DELAY_MS, chat);
    const ticket = this.#ticket(adapter, conversation, chat, now);
    conversation.waiting = ticket.at > now ? ticket : undefined;
    if (ticket.at > now) return ticket;
    if (first !== undefined) chat.first = undefined;
    ticket.chat = chat;
    if (chat.perSecond) ticket.secondPlace = chat.perSecond.take(now);
    if (chat.perMinute) ticket.minutePlace = chat.perMinute.take(now);
    later?.take(now);
    return ticket;
  }

  /** Queues whose group has had its messages of a minute, and when its next one may go. */
  waiting(now: number): { queue: string; at: number }[] {
    return [...this.#chats.values()].flatMap(({ first, perMinute, laterPerMinute }) => {
      if (first === undefined || first.at <= now) return [];
      const isFull = [perMinute, laterPerMinute].some((window) => window !== undefined && window.freeAt(now) > now);
      return isFull ? [{ queue: first.name, at: first.at }] : [];
    });
  }

  /** The request is being written now: the time that was counted at `take` may be some disk writes old. */
  writing({ platform, platformPlace, chat, secondPlace, minutePlace }: Ticket, now: number): void {
    platform?.moveTo(platformPlace, now);
    chat.perSecond?.moveTo(secondPlace, now);
    chat.perMinute?.moveTo(minutePlace, now);
  }

  /** The request's place among all requests to the platform, kept for a conversation until its time comes. */
  #ticket(adapter: Adapter, { waiting }: Conversation, chat: ChatWindows, now: number): Ticket {
    // A place whose time came and went unused (the delivery expired) counted for nothing.
    if (waiting && waiting.at >= now - UNUSED_MS) return waiting;
    const ticket = newTicket(now, chat);
    if (!Number.isFinite(adapter.traits.limits.perSecond)) return ticket;
    const window = this.#platform(adapter);
    ticket.at = window.freeAt(now);
    ticket.platform = window;
    ticket.platformPlace = window.take(ticket.at);
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
        perSecond: perChatPerSecond === undefined ? undefined : new Window(perChatPerSecond, 1_000),
        perMinute: isGroup ? new Window(perGroupPerMinute, 60_000) : undefined,
        laterPerMinute: isGroup ? new Window(perGroupPerMinute * SHARE_OF_LATER, 60_000) : undefined,
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

function newTicket(at: number, chat: ChatWindows): Ticket {
  return { at, platform: undefined, platformPlace: 0, chat, secondPlace: 0, minutePlace: 0 };
}
