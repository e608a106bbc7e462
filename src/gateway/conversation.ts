/**
 * Holds the open work of a conversation in memory: its events, in a lane of their own, one for its commands and one for each slow command,
 * and its deliveries, in queues (`domain/deliveries/outbox-queue.ts`). One keyed queue looks at all of them. The rows are the truth, and
 * this is a bounded copy of the open ones, so that a row that was just stored need not be read. A lane reads on where its copy ends. A
 * queue is read as soon as anything is out of the ordinary (a retry, a pause, an edit, a release, an error), until it turns out to have
 * nothing open any more.
 */
import { conversationOf } from "../domain/chat/event.js";
import type { Delivery, InboxRow, InboxStore, NewDelivery, OutboxStore } from "../domain/store.js";
import { PerKey } from "../lib/concurrency/per-key.js";
import { Key, type Share } from "../lib/concurrency/work.js";
import type { OrdinaryStops } from "../pending/ordinary-stops.js";
import type { Handling } from "./inbound/handling.js";

/** Rows of lanes in memory, over all conversations. */
const MAX_ROWS = 2_000;
const READ_ROWS = 50;
const MAX_DELIVERIES_PER_QUEUE = 200;
/** Lanes of slow commands and queues of interactions come and go: idle ones of a conversation are forgotten when there are so many. */
const FEW_BESIDE = 16;

/** A row, and the facts that this process has about its handling. */
export interface LaneRow extends InboxRow {
  /** Formatted address of where it happened, with the chat id that holds now. */
  conversation: string;
  /** Counted as started on disk, for a handling that has not started. */
  isStarted: boolean;
  /** The row was under way when an earlier process ended, and may have crashed that process. */
  isCutOff?: boolean;
  /** How many of its attempts a stop of the gateway cut off. */
  stops?: number;
  /** When a row that was put off in this process is due, by the monotonic clock: the other one may be set meanwhile. */
  dueMs?: number;
  /** The hook that put it off last, and for how long. */
  putOff?: { by: string; askedMs: number };
  /** The default route of a plugin has it, or gave no answer in time so often. `sinceMs`: when the call under way started. */
  route?: { plugin: string; timeouts: number; sinceMs?: number };
  /** message_received was fired in this process. */
  isReceived?: boolean;
  /** The row goes on without the hook that put it off too often: which hook, and the reason for the record. */
  passedOver?: { by: string; reason: string };
  /** Hooks were asked about its reply in this process. */
  wasAsked?: boolean;
  /** Handled; only the settling is left (the store refused it). */
  handled?: Handling;
}

/** Names the handling of a row where its starts are counted. */
export const startOf = ({ id }: Pick<InboxRow, "id">) => `m${id}`;

/** A row of the store, with the facts about the end of the process that was at it. */
export function laneRow(row: InboxRow, stops: OrdinaryStops): LaneRow {
  const work = startOf(row);
  const isCutOff = row.status === "running" && stops.stoppedAt(work, row.attempts) === undefined;
  return { conversation: conversationOf(row.event), isStarted: false, isCutOff, stops: stops.of(work), ...row };
}

/** The attempts that the limit of tries counts: none that was put off, and none that a stop cut off. A handler gets `startsSeen`. */
export const triesCounted = ({ attempts, deferrals, stops = 0 }: LaneRow) => attempts - deferrals - stops;

/** The dependencies that all conversations share. */
export interface Shared {
  readonly inbox: Pick<InboxStore, "lane" | "list">;
  readonly outbox: Pick<OutboxStore, "next" | "shift">;
  readonly stops: OrdinaryStops;
  readonly handling: Share;
  readonly sending: Share;
  readonly handle: (lane: Lane) => Promise<number | undefined>;
  readonly send: (queue: Queue) => Promise<number | undefined>;
  /** Notified of how many deliveries came to those in memory, or left them. */
  readonly onDeliveries: (change: number) => void;
  /** In lanes, in memory. */
  rows: number;
  /** How often the clock was set, and the last of these changes on its way to the store. */
  steps: number;
  shifting: Promise<void> | undefined;
}

/** Events of a conversation, handled one at a time, in order. */
export class Lane extends Key {
  readonly conversation: Conversation;
  readonly #shared: Shared;
  #rows: LaneRow[] = [];
  /** The store may hold rows of this lane that are not here. */
  #hasMore = false;
  /** The last id that was in memory: the store is read on from there. */
  #lastId = 0;
  /** Accepts under way: their rows are not here yet. */
  #coming = 0;
  /** Rows that came while the store was being read. */
  #missed = 0;

  constructor(key: string, conversation: Conversation, shared: Shared) {
    super(key, shared.handling);
    this.conversation = conversation;
    this.#shared = shared;
  }

  processDue(): Promise<number | undefined> {
    return this.#shared.handle(this);
  }

  get isEmpty(): boolean {
    return this.#coming === 0 && !this.hasRows;
  }

  /** Rows that are being stored do not count: nothing may come of them. */
  get hasRows(): boolean {
    return this.#rows.length > 0 || this.#hasMore;
  }

  /** The first row, as far as it is in memory. The same applies to `second`. */
  get first(): LaneRow | undefined {
    return this.#rows[0];
  }

  get second(): LaneRow | undefined {
    return this.#rows[1];
  }

  /** An event of this lane is about to be stored. True when it will be the lane's only one: it may be stored as started. */
  expect(): boolean {
    const isFirst = this.isEmpty;
    // Ids of rows that were removed since then may be given again.
    if (isFirst) this.#lastId = 0;
    this.#coming++;
    return isFirst;
  }

  /** Nothing came of it: a duplicate, or the store refused it. */
  expectNot(): void {
    this.#coming--;
  }

  /** The event that was expected is stored. */
  add(row: LaneRow): void {
    this.#coming--;
    if (row.id <= this.#lastId) return; // a read of the store was quicker
    if (this.#hasMore || this.#shared.rows >= MAX_ROWS) {
      this.#hasMore = true;
      this.#missed++;
      return;
    }
    this.#rows.push(row);
    this.#lastId = row.id;
    this.#shared.rows++;
  }

  /** The store holds unfinished rows of this lane (after a start, or a revival): it is read again. */
  reload(): this {
    this.#shared.rows -= this.#rows.length;
    this.#rows = [];
    this.#lastId = 0;
    this.#hasMore = true;
    return this;
  }

  /** The row that is to be handled next; undefined when the lane is empty. */
  async next(): Promise<LaneRow | undefined> {
    return this.#rows.length === 0 && this.#hasMore ? this.#readOn() : this.#rows[0];
  }

  /** The row that came next is finished. */
  finished(): void {
    if (this.#rows.shift()) this.#shared.rows--;
  }

  async #readOn(): Promise<LaneRow | undefined> {
    this.#missed = 0;
    const read = await this.#shared.inbox.lane(this.key, this.#lastId, READ_ROWS);
    this.#hasMore = read.length === READ_ROWS || this.#missed > 0;
    this.#rows.push(...read.map((row) => laneRow(row, this.#shared.stops)));
    this.#lastId = read.at(-1)?.id ?? this.#lastId;
    this.#shared.rows += read.length;
    return this.#rows[0];
  }
}

/** Open deliveries of a conversation, sent one at a time, in order. */
export class Queue extends Key {
  readonly #shared: Shared;
  /** In order; none while the queue is read from the store. */
  #deliveries: Delivery[] = [];
  #isFromStore = false;
  /** The one that was read from the store last: it may be under way. */
  #lastRead: Delivery | undefined;
  /** Something was committed since the last read of the store started. */
  #hasNews = false;

  constructor(key: string, shared: Shared) {
    super(key, shared.sending);
    this.#shared = shared;
  }

  processDue(): Promise<number | undefined> {
    return this.#shared.send(this);
  }

  get isEmpty(): boolean {
    return this.#deliveries.length === 0 && !this.#isFromStore;
  }

  /** The deliveries that may be under way. */
  get known(): readonly Delivery[] {
    return this.#lastRead ? [...this.#deliveries, this.#lastRead] : this.#deliveries;
  }

  /** A delivery was committed just now. `seq` 0: its id existed. */
  offer(delivery: Delivery): void {
    if (this.#isFromStore) this.#hasNews = true;
    else if (delivery.seq > 0 && this.keeps(delivery)) this.keep(delivery);
    else this.read();
  }

  /** An edit needs its order in the store, to see which edit supersedes it. */
  keeps({ operation }: NewDelivery): boolean {
    return operation === "send" && this.#deliveries.length < MAX_DELIVERIES_PER_QUEUE;
  }

  keep(delivery: Delivery): void {
    this.#shared.onDeliveries(1);
    this.#deliveries.push(delivery);
  }

  /** From now on it is read from the store. */
  read(): this {
    this.#shared.onDeliveries(-this.#deliveries.length);
    this.#deliveries = [];
    this.#isFromStore = true;
    this.#hasNews = true;
    return this;
  }

  /** The delivery that comes next. */
  async next(): Promise<Delivery | undefined> {
    return this.#isFromStore ? this.#readNext() : this.#deliveries[0];
  }

  /** The delivery that came next is settled. */
  settled(): void {
    if (this.#deliveries.shift()) this.#shared.onDeliveries(-1);
  }

  async #readNext(): Promise<Delivery | undefined> {
    this.#hasNews = false;
    const next = await this.#readShifted();
    this.#lastRead = next;
    // A delivery that was committed during the read may be missing in the result.
    if (!next && !this.#hasNews) this.#isFromStore = false;
    return next;
  }

  /** Never with the times of before a step of the clock. */
  async #readShifted(): Promise<Delivery | undefined> {
    for (;;) {
      const { steps, shifting, outbox } = this.#shared;
      // When it fails, its caller gets the error, and the times are as they were.
      await shifting?.catch(() => {});
      const next = await outbox.next(this.key);
      if (steps === this.#shared.steps) return next;
    }
  }
}

/** Use it within this turn of the event loop: `Conversations` forgets one that is idle. */
export class Conversation {
  readonly address: string;
  /** The events of the conversation but for commands, and the queue that deliveries without a queue of their own wait in. */
  readonly talk: Lane;
  readonly sending: Queue;
  readonly #shared: Shared;
  #lanes: PerKey<Lane> | undefined;
  #queues: PerKey<Queue> | undefined;

  constructor(address: string, shared: Shared) {
    this.address = address;
    this.#shared = shared;
    this.talk = new Lane(address, this, shared);
    this.sending = new Queue(address, shared);
  }

  get isIdle(): boolean {
    return [...this.#all()].every((key) => key.isIdle && key.isEmpty);
  }

  /** Lanes of commands have keys that start with the address. */
  lane(key: string): Lane {
    if (key === this.address) return this.talk;
    this.#lanes ??= new PerKey((name) => new Lane(name, this, this.#shared), isDone, FEW_BESIDE);
    return this.#lanes.of(key);
  }

  queue(key: string): Queue {
    if (key === this.address) return this.sending;
    this.#queues ??= new PerKey((name) => new Queue(name, this.#shared), isDone, FEW_BESIDE);
    return this.#queues.of(key);
  }

  get queues(): Queue[] {
    return [this.sending, ...(this.#queues?.values() ?? [])];
  }

  *#all(): Iterable<Lane | Queue> {
    yield this.talk;
    yield this.sending;
    yield* this.#lanes?.values() ?? [];
    yield* this.#queues?.values() ?? [];
  }
}

const isDone = (key: Lane | Queue) => key.isIdle && key.isEmpty;
