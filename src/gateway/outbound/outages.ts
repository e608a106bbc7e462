/**
 * Platforms that give no usable answer to new messages at present (HTTP 5xx, timeouts). Each message that is sent then is in doubt, so the
 * others wait, in order, while one at a time tries whether the platform takes messages again: those in doubt first, which it posts once
 * by their nonce. On a platform without nonces, each that is tried is held when it gets no answer: fewer are tried, to chats that did
 * not fail first.
 */
import type { Adapter, CursorStore } from "../../domain/chat/adapter.js";
import { parseAddress } from "../../domain/chat/address.js";
import { mayBePosted } from "../../domain/deliveries/given-up.js";
import { queueOf, readQueue } from "../../domain/deliveries/outbox-queue.js";
import type { Delivery } from "../../domain/store.js";
import type { Logger } from "../../lib/logger.js";
import { backoffMs } from "../../lib/time/backoff.js";
import type { Clock, Timer } from "../../lib/time/clock.js";
import type { Background } from "../background.js";
import type { GatewayConfig } from "../config.js";
import type { Parking } from "./parking.js";

/** Unanswered without a success in between: one alone may be the fault of the message. */
const UNANSWERED = 2;
/** This many other chats are tried at once, because the fault may be in one chat. */
const OTHER_CHATS = 2;
/** The oldest goes first, so that order is kept; then another, because the oldest may be at fault. */
const TRIED_IN_A_ROUND = 2;
/** In each of so many rounds, the other is a message to a chat that did not fail. */
const OTHER_CHAT_EVERY = 4;
/** The most messages tried in a round that turn out to need no request. */
const MAX_PICKS = 20;
const MAX_REST_MS = 15_000;
/** Where each that is tried may be held, the first pause is so much longer, and the longest is this one. */
const LONGER_REST = 5;
const MAX_REST_WHERE_HELD_MS = 30_000;

/** A rest is longer by this time, so that the delivery that is tried after it is due. */
const LATER_MS = 20;

interface InDoubt {
  queue: string;
  seq: number;
  /** When it was tried last. */
  round: number;
}

interface Outage {
  platform: string;
  /** When the first of them was tried. */
  since: number;
  error: string;
  isOn: boolean;
  /** Its platform has no nonces: a delivery that was tried cannot be tried again without showing twice. */
  isWithoutNonce?: boolean;
  /** By delivery; the one that was tried last is the last. */
  inDoubt: Map<string, InDoubt>;
  /** The chats in which a request failed. */
  chats: Set<string>;
  otherChatsLeft: number;
  /** The one queue that may send, the message that it is for, and whether that failed. */
  pass?: { queue: string; id: string | undefined; hasFailed?: true } | undefined;
  round: number;
  tried: number;
  picks: number;
  resting?: Timer | undefined;
  /** A pause ended and there was nothing to try: the next message is tried at once. */
  isIdle?: boolean;
}

export interface OutagesOptions {
  cursors: Pick<CursorStore, "list" | "set">;
  parking: Parking;
  /** Wakes a queue of the outbox. */
  wake(queue: string): void;
  /** Wakes all that is parked for a platform. */
  wakeParked(platform: string): void;
  background: Background;
  config: Pick<GatewayConfig, "retry_first" | "retry_max">;
  clock: Clock;
  logger: Logger;
}

const PREFIX = "outage:";

export class Outages {
  readonly #options: OutagesOptions;
  /** By platform; those that are not on are suspected. */
  readonly #all = new Map<string, Outage>();

  constructor(options: OutagesOptions) {
    this.#options = options;
    // An outage from before this start: a delivery that was in doubt then is noticed when it asks.
    for (const { key, value } of options.cursors.list(PREFIX)) {
      const [since = "", ...error] = value.split(" ");
      const outage = newOutage(key.slice(PREFIX.length), Number(since), error.join(" "));
      this.#all.set(outage.platform, { ...outage, isOn: true, otherChatsLeft: 0 });
    }
  }

  /** Since when, and the last error. */
  of(platform: string): { since: number; error: string } | undefined {
    const outage = this.#all.get(platform);
    return outage?.isOn ? outage : undefined;
  }

  /** True when this delivery must not be sent now: its queue is to be parked. False for the one that tries. */
  holdsBack(delivery: Delivery): boolean {
    const outage = this.#all.get(delivery.address.platform);
    if (!outage?.isOn || !isConcerned(delivery)) return false;
    const queue = queueOf(delivery);
    const { pass, inDoubt, chats } = outage;
    if (pass?.queue === queue) {
      pass.id ??= delivery.id;
      return pass.id !== delivery.id;
    }
    if (!pass && outage.otherChatsLeft > 0 && !chats.has(delivery.address.chatId)) {
      outage.pass = { queue, id: delivery.id };
      return false;
    }
    if (delivery.parts.some(mayBePosted) && !inDoubt.has(delivery.id))
      inDoubt.set(delivery.id, { queue, seq: delivery.seq, round: -1 });
    // After a restart, or when all that was tried has ended: others may ask in a moment.
    if (!pass && !outage.resting) this.#rest(outage, outage.isIdle ? 0 : undefined);
    return true;
  }

  /** True when it is this delivery's turn to test the platform. It may go although its next try is not due. */
  isItsTurn({ id, address }: Delivery): boolean {
    return this.#all.size > 0 && this.#all.get(address.platform)?.pass?.id === id;
  }

  /** A request for a new message got no usable answer. Gives how long it waits before its next try; undefined: as long as any other one. */
  unanswered(delivery: Delivery, error: string, { traits }: Adapter): number | undefined {
    if (!isConcerned(delivery)) return undefined;
    const { platform, chatId } = delivery.address;
    const { clock, logger, cursors, background } = this.#options;
    const outage = this.#all.get(platform) ?? newOutage(platform, clock.now(), error);
    this.#all.set(platform, outage);
    outage.error = error;
    outage.isWithoutNonce = !traits.idempotentCreate;
    if (outage.isWithoutNonce) outage.otherChatsLeft = 0;
    outage.inDoubt.delete(delivery.id);
    outage.inDoubt.set(delivery.id, { queue: queueOf(delivery), seq: delivery.seq, round: outage.round });
    if (outage.isOn && !outage.chats.has(chatId)) outage.otherChatsLeft--;
    outage.chats.add(chatId);
    if (outage.pass?.id === delivery.id) {
      outage.pass.hasFailed = true;
      outage.tried++;
    }
    if (!outage.isOn && outage.inDoubt.size >= UNANSWERED) {
      outage.isOn = true;
      logger.warn({ platform, error }, `${platform} takes no messages; one at a time is tried, and the others wait`);
      background.run("an outage", cursors.set(PREFIX + platform, `${outage.since} ${error}`));
      this.#rest(outage);
    }
    return outage.isOn && !outage.isWithoutNonce ? this.#restMs(outage) : undefined;
  }

  /** A new message was sent: the incident has ended. */
  answered({ interaction, address: { platform } }: Delivery): void {
    if (this.#all.size === 0 || interaction) return;
    const outage = this.#all.get(platform);
    if (!outage) return;
    const { cursors, background, logger, wakeParked } = this.#options;
    this.#all.delete(platform);
    if (!outage.isOn) return;
    outage.resting?.cancel();
    logger.info({ platform, since: outage.since }, `${platform} takes messages again`);
    background.run("the end of an outage", cursors.set(PREFIX + platform, undefined));
    wakeParked(platform);
  }

  /** A pass over this queue ended. */
  passed(queue: string): void {
    if (this.#all.size === 0) return;
    for (const outage of this.#all.values()) {
      const { pass } = outage;
      if (pass?.queue !== queue) continue;
      outage.pass = undefined;
      // The delivery needed no request, or waits for something else. If it is still in doubt, it is noticed when it asks.
      if (!pass.hasFailed && pass.id !== undefined) outage.inDoubt.delete(pass.id);
      this.#tryNext(outage);
    }
  }

  /** The clock was set. */
  shift(stepMs: number): void {
    for (const outage of this.#all.values()) outage.since += stepMs;
  }

  #tryNext(outage: Outage): void {
    if (outage.pass) return;
    const other = outage.otherChatsLeft > 0 ? this.#ofOtherChat(outage) : undefined;
    if (other === undefined && outage.resting) return;
    const pass = other ?? this.#pick(outage);
    outage.isIdle = pass === undefined && outage.picks === 0;
    if (pass) {
      outage.picks++;
      outage.pass = pass;
      this.#options.parking.leaveAlone(outage.platform, pass.queue);
      this.#options.wake(pass.queue);
    } else if (outage.picks > 0) this.#rest(outage);
  }

  #pick(outage: Outage): Outage["pass"] {
    const { inDoubt, tried, picks, round, platform, isWithoutNonce } = outage;
    if (tried >= (isWithoutNonce ? 1 : TRIED_IN_A_ROUND) || picks >= MAX_PICKS) return undefined;
    if (isWithoutNonce) return this.#ofOtherChat(outage) ?? this.#ofAny(platform);
    const left = [...inDoubt].filter(([, one]) => one.round < round);
    if (tried > 0) {
      const other = round % OTHER_CHAT_EVERY === 0 ? this.#ofOtherChat(outage) : undefined;
      return other ?? passOf(left[0]);
    }
    if (left.length > 0) return passOf(left.reduce((one, next) => (next[1].seq < one[1].seq ? next : one)));
    return this.#ofAny(platform);
  }

  #ofAny(platform: string): Outage["pass"] {
    const queue = this.#options.parking.take(platform, () => true);
    return queue === undefined ? undefined : { queue, id: undefined };
  }

  #ofOtherChat({ platform, chats }: Outage): Outage["pass"] {
    const queue = this.#options.parking.take(
      platform,
      (one) => !chats.has(parseAddress(readQueue(one).conversation)?.chatId ?? ""),
    );
    return queue === undefined ? undefined : { queue, id: undefined };
  }

  #rest(outage: Outage, ms = this.#restMs(outage)): void {
    const { clock } = this.#options;
    outage.resting = clock.after(ms + LATER_MS, () => {
      outage.resting = undefined;
      outage.round++;
      outage.tried = 0;
      outage.picks = 0;
      this.#tryNext(outage);
    });
  }

  /** Longer with each round. */
  #restMs({ round, isWithoutNonce = false }: Outage): number {
    const { retry_first, retry_max } = this.#options.config;
    const [longer, longestMs] = isWithoutNonce ? [LONGER_REST, MAX_REST_WHERE_HELD_MS] : [1, MAX_REST_MS];
    return backoffMs({ firstMs: retry_first * longer, maxMs: Math.min(retry_max, longestMs) }, round + 1);
  }
}

const newOutage = (platform: string, since: number, error: string): Outage => ({
  platform,
  since,
  error,
  isOn: false,
  inDoubt: new Map(),
  chats: new Set(),
  otherChatsLeft: OTHER_CHATS,
  round: 0,
  tried: 0,
  picks: 0,
});

const passOf = (entry: [string, InDoubt] | undefined): Outage["pass"] =>
  entry && { id: entry[0], queue: entry[1].queue };

/**
 * A message that would be new in its chat. Changes and answers to interactions can be repeated in their place, and alerts have another way
 * when they are in doubt.
 */
function isConcerned(delivery: Delivery): boolean {
  return delivery.interaction === undefined && delivery.cause.kind !== "alert" && postsAnew(delivery);
}

/** True when the next request for this delivery posts a new message. */
export function postsAnew({ operation, parts }: Delivery): boolean {
  const next = parts.find(({ status }) => status !== "sent");
  return next ? next.operation === "create" : operation === "send";
}
