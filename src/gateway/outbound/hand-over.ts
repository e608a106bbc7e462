/**
 * New deliveries handed over in memory, so that what was just written need not be read again: the common case is a
 * conversation with nothing else to send. The store stays the truth. A conversation is `read` from there as soon as anything
 * is out of the ordinary (a retry, a pause, an edit, a release, an error), until it turns out to have nothing open any more.
 */
import { formatAddress } from "../../domain/address.js";
import type { Delivery, NewDelivery, OutboxStore } from "../../domain/store.js";

const MAX_PER_CONVERSATION = 50;

/** The conversation is read from the store. */
interface FromStore {
  /** Something was committed since the last read began. */
  hasNews: boolean;
}

export class HandOver {
  readonly #outbox: OutboxStore;
  /** Absent: nothing is open. */
  readonly #conversations = new Map<string, Delivery[] | FromStore>();

  constructor(outbox: OutboxStore) {
    this.#outbox = outbox;
  }

  /** A delivery was committed just now. Gives its conversation. */
  offer(delivery: NewDelivery, at: number): string {
    const conversation = formatAddress(delivery.address);
    const known = this.#conversations.get(conversation);
    if (known && "hasNews" in known) {
      known.hasNews = true;
      return conversation;
    }
    // An edit needs its order in the store, to see what supersedes it.
    if (delivery.operation !== "send" || (known && known.length >= MAX_PER_CONVERSATION)) this.read(conversation);
    else if (known) known.push(fresh(delivery, conversation, at));
    else this.#conversations.set(conversation, [fresh(delivery, conversation, at)]);
    return conversation;
  }

  /** From now on this conversation is read from the store. */
  read(conversation: string): void {
    this.#conversations.set(conversation, { hasNews: true });
  }

  /** The delivery that comes next. */
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
    if (known.length === 0) this.#conversations.delete(conversation);
  }
}

function fresh(delivery: NewDelivery, conversation: string, at: number): Delivery {
  return { ...delivery, seq: 0, conversation, status: "waiting", attempts: 0, createdAt: at, dueAt: at, parts: [] };
}
