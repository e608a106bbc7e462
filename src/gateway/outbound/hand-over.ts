/**
 * New deliveries passed on in memory, so that what was just written need not be read again: the common case is a conversation with
 * nothing else to send. The store stays the truth. A conversation is `read` from there as soon as anything is out of the ordinary (a retry,
 * a pause, an edit, a release, an error), until it turns out to have nothing open any more.
 */
import { formatAddress } from "../../domain/address.js";
import { queueOf } from "../../domain/outbox-queue.js";
import type { Delivery, NewDelivery, OutboxStore } from "../../domain/store.js";
import { PerKey } from "../../lib/per-key.js";
import { isIdleKey, type KeyState, newKeyState } from "../../lib/work.js";

const MAX_PER_CONVERSATION = 200;

/** What is open in a queue: a conversation's, or one of its own (see `outbox-queue.ts`). */
export interface Open extends KeyState {
  /** In order; none while the conversation is read from the store. */
  deliveries: Delivery[];
  isFromStore: boolean;
  /** The one that was read from the store last: it may be under way. */
  lastRead?: Delivery | undefined;
  /** Something was committed since the last read of the store began. */
  hasNews: boolean;
}

export class HandOver {
  readonly #outbox: OutboxStore;
  readonly #conversations = new PerKey<Open>(
    (conversation) => ({ deliveries: [], isFromStore: false, hasNews: false, ...newKeyState(conversation) }),
    (open) => open.deliveries.length === 0 && !open.isFromStore && isIdleKey(open),
  );
  /** How often the clock was set, and the last of these changes on its way to the store. */
  #steps = 0;
  #shifting: Promise<void> | undefined;
  /** Told how many came to those in memory, or left them. */
  readonly #onChange: (change: number) => void;

  constructor(outbox: OutboxStore, onChange: (change: number) => void) {
    this.#outbox = outbox;
    this.#onChange = onChange;
  }

  /** To be given back within the same turn, or while it is looked at or something is open there: an idle one is forgotten. */
  of(conversation: string): Open {
    return this.#conversations.of(conversation);
  }

  /** A delivery was committed just now, as the row `seq` (0: its id existed). Gives its conversation. */
  offer(delivery: NewDelivery, seq: number, at: number, wasAsked = false): Open {
    const open = this.of(queueOf(delivery));
    if (open.isFromStore) open.hasNews = true;
    else if (seq > 0 && this.#keeps(delivery, open)) {
      const kept = fresh(delivery, at);
      kept.seq = seq;
      if (wasAsked) {
        kept.asked = 1;
        kept.wasAsked = true;
      }
      this.keep(kept, open);
    } else this.read(open);
    return open;
  }

  /** The queue of a delivery that is to be decided on before it is stored; undefined when something is open there, or it needs its order in the store. */
  idleFor(delivery: NewDelivery): Open | undefined {
    const open = this.of(queueOf(delivery));
    return !open.isFromStore && open.deliveries.length === 0 && this.#keeps(delivery, open) ? open : undefined;
  }

  /** From now on this conversation is read from the store. */
  read(open: Open): void {
    this.#onChange(-open.deliveries.length);
    open.deliveries = [];
    open.isFromStore = true;
    open.hasNews = true;
  }

  /** The delivery that comes next. A promise when it has to be read. */
  next(open: Open): Delivery | undefined | Promise<Delivery | undefined> {
    return open.isFromStore ? this.#readNext(open) : open.deliveries[0];
  }

  /** The delivery that came next is settled. */
  settled(open: Open): void {
    if (open.deliveries.shift()) this.#onChange(-1);
  }

  /**
   * The clock was set: times move with it, also of what is under way. In the same turn, because a delivery would else expire, or pass
   * for one that was tried for long, by the step alone.
   */
  async shift(stepMs: number): Promise<void> {
    this.#steps++;
    const known = new Set<Delivery>();
    for (const { deliveries, lastRead } of this.#conversations.values()) {
      for (const delivery of deliveries) known.add(delivery);
      if (lastRead) known.add(lastRead);
    }
    for (const delivery of known) {
      delivery.createdAt += stepMs;
      delivery.dueAt += stepMs;
      if (delivery.expiresAt !== undefined) delivery.expiresAt += stepMs;
    }
    this.#shifting = this.#outbox.shift(stepMs);
    await this.#shifting;
  }

  async #readNext(open: Open): Promise<Delivery | undefined> {
    open.hasNews = false;
    const next = await this.#readShifted(open.key);
    open.lastRead = next;
    // What was committed during the read may not be in it.
    if (!next && !open.hasNews) open.isFromStore = false;
    return next;
  }

  /** Never with the times of before a step. */
  async #readShifted(key: string): Promise<Delivery | undefined> {
    for (;;) {
      const steps = this.#steps;
      // When it fails, its caller gets the error, and the times are as they were.
      await this.#shifting?.catch(() => {});
      const next = await this.#outbox.next(key);
      if (steps === this.#steps) return next;
    }
  }

  /** An edit needs its order in the store, to see what supersedes it. */
  #keeps({ operation }: NewDelivery, { deliveries }: Open): boolean {
    return operation === "send" && deliveries.length < MAX_PER_CONVERSATION;
  }

  keep(delivery: Delivery, open: Open): void {
    this.#onChange(1);
    open.deliveries.push(delivery);
  }
}

/** A new delivery as its row has it, whose number is not known yet. */
export function fresh(given: NewDelivery, at: number): Delivery {
  // Written out: a copy by spreading costs as much as all else here.
  const { id, address, operation, cause } = given;
  const delivery: Delivery = {
    id,
    address,
    operation,
    cause,
    seq: 0,
    conversation: formatAddress(address),
    status: "waiting",
    attempts: 0,
    round: 1,
    asked: 0,
    createdAt: at,
    dueAt: at,
    parts: [],
  };
  if (given.message !== undefined) delivery.message = given.message;
  if (given.expiresAt !== undefined) delivery.expiresAt = given.expiresAt;
  if (given.targetId !== undefined) delivery.targetId = given.targetId;
  if (given.interaction !== undefined) delivery.interaction = given.interaction;
  if (given.visibleTo !== undefined) delivery.visibleTo = given.visibleTo;
  if (given.isCourtesy !== undefined) delivery.isCourtesy = given.isCourtesy;
  if (given.answers !== undefined) delivery.answers = given.answers;
  if (given.skipsHooks !== undefined) delivery.skipsHooks = given.skipsHooks;
  if (given.openly !== undefined) delivery.openly = given.openly;
  if (given.mirrors !== undefined) delivery.mirrors = given.mirrors;
  if (given.sight !== undefined) delivery.sight = given.sight;
  if (given.urgency !== undefined) delivery.urgency = given.urgency;
  if (given.isApart !== undefined) delivery.isApart = given.isApart;
  return delivery;
}
