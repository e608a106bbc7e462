/**
 * New deliveries handed over in memory, so that what was just written need not be read again: the common case is a
 * conversation with nothing else to send. The store stays the truth. A conversation is `read` from there as soon as anything
 * is out of the ordinary (a retry, a pause, an edit, a release, an error), until it turns out to have nothing open any more.
 */
import { formatAddress } from "../../domain/address.js";
import type { Delivery, NewDelivery, OutboxStore } from "../../domain/store.js";
import { TransientMap } from "../../lib/transient-map.js";

const MAX_PER_CONVERSATION = 200;

/** The conversation is read from the store. */
interface FromStore {
  /** Something was committed since the last read began. */
  hasNews: boolean;
}

export class HandOver {
  readonly #outbox: OutboxStore;
  /** Absent: nothing is open. */
  readonly #conversations = new TransientMap<string, Delivery[] | FromStore>();
  /** Told how many came to those in memory, or left them. */
  readonly #onChange: (change: number) => void;

  constructor(outbox: OutboxStore, onChange: (change: number) => void) {
    this.#outbox = outbox;
    this.#onChange = onChange;
  }

  /** A delivery was committed just now. Gives its conversation. */
  offer(delivery: NewDelivery, at: number): string {
    const conversation = formatAddress(delivery.address);
    const known = this.#conversations.get(conversation);
    if (known && "hasNews" in known) {
      known.hasNews = true;
      return conversation;
    }
    if (!this.#keeps(delivery, known)) this.read(conversation);
    else this.#keep(fresh(delivery, conversation, at), known);
    return conversation;
  }

  /**
   * A delivery whose commit was asked for and has not come yet: its hooks need not wait for that, because writes keep their order,
   * so nothing is frozen, let alone sent, of what was not committed. Undefined when it has to be offered after its commit.
   */
  offerEarly(delivery: NewDelivery, at: number): string | undefined {
    const conversation = formatAddress(delivery.address);
    const known = this.#conversations.get(conversation);
    if ((known && "hasNews" in known) || !this.#keeps(delivery, known)) return undefined;
    this.#keep(fresh(delivery, conversation, at), known);
    return conversation;
  }

  /** What was offered early is committed. False when it must be looked for in the store, because a read may have come too soon for it. */
  isAtHand(conversation: string): boolean {
    const known = this.#conversations.get(conversation);
    return known !== undefined && !("hasNews" in known);
  }

  /** From now on this conversation is read from the store. */
  read(conversation: string): void {
    const known = this.#conversations.get(conversation);
    if (known && !("hasNews" in known)) this.#onChange(-known.length);
    this.#conversations.set(conversation, { hasNews: true });
  }

  /** The delivery that comes next, when it is in memory. */
  atHand(conversation: string): Delivery | undefined {
    const known = this.#conversations.get(conversation);
    return known === undefined || "hasNews" in known ? undefined : known[0];
  }

  /** The delivery that comes next, wherever it is. */
  async next(conversation: string): Promise<Delivery | undefined> {
    const known = this.#conversations.get(conversation);
    if (known === undefined) return undefined;
    if (!("hasNews" in known)) return known[0];
    known.hasNews = false;
    const next = await this.#outbox.next(conversation);
    // What was committed during the read may not be in it.
    if (!next && !known.hasNews && this.#conversations.get(conversation) === known)
      this.#conversations.delete(conversation);
    return next;
  }

  /** The delivery that came next is settled. */
  settled(conversation: string): void {
    const known = this.#conversations.get(conversation);
    if (known === undefined || "hasNews" in known) return;
    known.shift();
    this.#onChange(-1);
    if (known.length === 0) this.#conversations.delete(conversation);
  }

  /** An edit needs its order in the store, to see what supersedes it. */
  #keeps({ operation }: NewDelivery, known: Delivery[] | undefined): boolean {
    return operation === "send" && (known?.length ?? 0) < MAX_PER_CONVERSATION;
  }

  #keep(delivery: Delivery, known: Delivery[] | undefined): void {
    this.#onChange(1);
    if (known) known.push(delivery);
    else this.#conversations.set(delivery.conversation, [delivery]);
  }
}

function fresh(given: NewDelivery, conversation: string, at: number): Delivery {
  // Written out: a copy by spreading costs as much as all else here.
  const { id, address, operation, cause } = given;
  const delivery: Delivery = {
    id,
    address,
    operation,
    cause,
    seq: 0,
    conversation,
    status: "waiting",
    attempts: 0,
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
  if (given.openly !== undefined) delivery.openly = given.openly;
  if (given.mirrors !== undefined) delivery.mirrors = given.mirrors;
  return delivery;
}
