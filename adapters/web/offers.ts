/**
 * Rows that were stored in the chat and still have to reach the gateway. A row is written first and offered second; a crash
 * between the two would lose the message for the hooks. So a mark on disk shows up to where every row was accepted, and
 * every row after it is offered again at the next start. The inbox knows which rows it has seen.
 */
import type { CursorStore, GatewayPort } from "../../src/domain/chat/adapter.js";
import type { InboundEvent } from "../../src/domain/chat/event.js";
import type { WebChatMessage, WebChatStore, WebRoom } from "../../src/domain/store.js";
import { errorMessage } from "../../src/lib/errors.js";
import type { Logger } from "../../src/lib/logger.js";
import type { Clock, Timer } from "../../src/lib/time/clock.js";
import { readBody } from "./body.js";
import { createdEvent, deletedEvent, editedEvent, reactionEvent } from "./events.js";

const CURSOR = "accepted-up-to";
const SAVE_EVERY_MS = 1000;
const REOFFER_AFTER_MS = 5000;
const PAGE = 200;
/**
 * How far before the mark's own time something may have happened and still be offered. A write under way when the mark was saved is
 * younger than this; and an older event may have left the inbox's memory, so that offering it again would handle it twice.
 */
const MARGIN_MS = 60_000;

interface Open {
  /** Everything up to here was stored before this write began. */
  floor: number;
  seq?: number;
}

export interface OffersDeps {
  store: WebChatStore;
  gateway: GatewayPort;
  cursors: CursorStore;
  clock: Clock;
  logger: Logger;
  gatewayName: string;
}

/** A write under way: stored, then accepted. */
export interface Offer {
  stored(seq: number): void;
  /** The write failed: there is no row. */
  dropped(): void;
  accept(event: InboundEvent): ReturnType<GatewayPort["accept"]>;
}

export class Offers {
  readonly #deps: OffersDeps;
  readonly #open = new Set<Open>();
  readonly #under: Set<Promise<unknown>> = new Set();
  #highest = 0;
  #saved = 0;
  #saveTimer: Timer | undefined;
  #againTimer: Timer | undefined;
  #failingSince: number | undefined;
  #stopped = false;

  constructor(deps: OffersDeps) {
    this.#deps = deps;
  }

  /** Offers again whatever was stored after the mark, then keeps the mark up to date. */
  async start(): Promise<void> {
    const mark = this.#readMark();
    if (mark) this.#highest = mark.seq;
    // The first start of an installation has no mark and nothing to offer that is older than itself.
    await this.#offerAfter(mark?.seq ?? 0, (mark?.at ?? 0) - MARGIN_MS);
  }

  open(): Offer {
    const open: Open = { floor: this.#highest };
    this.#open.add(open);
    return {
      stored: (seq) => {
        open.seq = seq;
        this.#highest = Math.max(this.#highest, seq);
      },
      dropped: () => {
        this.#open.delete(open);
      },
      accept: async (event) => {
        const accepting = this.#deps.gateway.accept(event);
        const done = accepting.then(
          () => this.#close(open),
          () => this.#offerAgainSoon(),
        );
        this.#under.add(done);
        void done.finally(() => this.#under.delete(done));
        return accepting;
      },
    };
  }

  /** Waits for the offers under way and saves the mark. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#againTimer?.cancel();
    this.#saveTimer?.cancel();
    await Promise.allSettled(this.#under);
    await this.#save();
  }

  #close(open: Open): void {
    this.#open.delete(open);
    if (this.#saveTimer || this.#stopped) return;
    this.#saveTimer = this.#deps.clock.after(SAVE_EVERY_MS, () => {
      this.#saveTimer = undefined;
      void this.#save();
    });
  }

  /** The last seq up to which nothing is on its way. */
  #mark(): number {
    let mark = this.#highest;
    for (const { floor, seq } of this.#open) mark = Math.min(mark, seq === undefined ? floor : seq - 1);
    return mark;
  }

  async #save(): Promise<void> {
    const seq = this.#mark();
    if (seq <= this.#saved) return;
    try {
      await this.#deps.cursors.set(CURSOR, JSON.stringify({ seq, at: this.#deps.clock.now() }));
      this.#saved = seq;
    } catch (error) {
      // An old mark only means that more is offered again, and recognised, at the next start.
      this.#deps.logger.debug({ error: errorMessage(error) }, "the web chat's mark was not saved");
    }
  }

  #readMark(): { seq: number; at: number } | undefined {
    const [seq, at] = (this.#deps.cursors.get(CURSOR) ?? "").match(/\d+/g)?.map(Number) ?? [];
    return seq === undefined || at === undefined ? undefined : { seq, at };
  }

  /** The gateway could not take an event: its writer gets an error, and it is offered again even if they never come back. */
  #offerAgainSoon(): void {
    this.#failingSince ??= this.#deps.clock.now();
    if (this.#againTimer || this.#stopped) return;
    this.#againTimer = this.#deps.clock.after(REOFFER_AFTER_MS, () => {
      this.#againTimer = undefined;
      const since = (this.#failingSince ?? 0) - MARGIN_MS;
      const under: Promise<void> = this.#offerAfter(this.#mark(), since).then(
        () => {
          this.#failingSince = undefined;
        },
        (error) => {
          this.#deps.logger.warn({ error: errorMessage(error) }, "web messages still wait to be accepted");
          this.#offerAgainSoon();
        },
      );
      this.#under.add(under);
      void under.finally(() => this.#under.delete(under));
    });
  }

  async #offerAfter(start: number, since: number): Promise<void> {
    const { store } = this.#deps;
    const rooms = new Map((await store.rooms()).map((room) => [room.id, room]));
    const end = await store.lastSeq();
    let seq = start;
    while (seq < end && !this.#stopped) {
      const { changes } = await store.changesAfter(seq, { limit: PAGE });
      if (changes.length === 0) break;
      for (const change of changes) {
        for (const event of await this.#eventsOf(change.message, rooms.get(change.message.roomId), since))
          await this.#deps.gateway.accept(event);
        seq = change.seq;
      }
    }
    if (this.#stopped) return;
    this.#highest = Math.max(this.#highest, end);
    for (const open of this.#open) if (open.seq !== undefined && open.seq <= end) this.#open.delete(open);
    await this.#save();
  }

  /** All events of a row that happened since then, in the order in which they can have happened. */
  async #eventsOf(row: WebChatMessage, room: WebRoom | undefined, since: number): Promise<InboundEvent[]> {
    if (!room) return [];
    const events: InboundEvent[] = [];
    if (row.userId !== undefined) {
      const replyTo = row.replyToId === undefined ? undefined : await this.#deps.store.get(row.replyToId);
      const facts = { isDm: room.isDm, gatewayName: this.#deps.gatewayName, replyTo };
      const wasEmptied = row.deletedAt !== undefined && row.text === "";
      if (row.at >= since && !wasEmptied) events.push(createdEvent(row, facts));
      if (row.editedAt !== undefined && row.editedAt >= since && !wasEmptied) events.push(editedEvent(row, facts));
    }
    for (const reaction of readBody(row).reactions ?? [])
      if (reaction.at >= since) events.push(reactionEvent(row, reaction, room.isDm));
    if (row.userId !== undefined && row.deletedAt !== undefined && row.deletedAt >= since)
      events.push(deletedEvent(row));
    return events;
  }
}
