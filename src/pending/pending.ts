/**
 * Does the work that must be done once after a commit. The caller that changes something writes the work with the change and adds it
 * here; each kind has one function that does it. Work that fails is tried again after a pause, and work that a crash cut off at the next
 * start, both with a higher attempt.
 */
import type { NewPending, PendingItem, PendingStore } from "../domain/pending.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { doubledMs } from "../lib/time/backoff.js";
import type { Clock, Timer } from "../lib/time/clock.js";
import type { OrdinaryStops } from "./ordinary-stops.js";

/** Rejects when the work has to be tried again. Resolves with the pieces that take its place, if any. */
export type DoPending = (item: PendingItem) => Promise<void> | Promise<readonly NewPending[] | undefined>;

export interface PendingDeps {
  store: PendingStore;
  clock: Clock;
  logger: Logger;
  /** Absent: each end of a process is a crash. */
  stops?: OrdinaryStops;
  /** Waits until work that was cut off so often may run; absent: at once. */
  turn?: <T>(cutOffs: number, work: () => Promise<T>) => Promise<T>;
}

/** `cutOffs`: how often the end of a process cut it off, at most: it may have waited for its first start. */
type QueuedItem = PendingItem & { cutOffs?: number };

/** Without jitter: the README promises 1 s, 2 s, 4 s. */
const PAUSE = { firstMs: 1_000, maxMs: 5 * 60_000 };
/** How long rows of finished work may stay, and how many, before they are deleted in one write. */
const DELETE_EVERY_MS = 1_000;
const MAX_FINISHED = 500;

export class Pending {
  readonly #store: PendingStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #turn: PendingDeps["turn"];
  readonly #stops: OrdinaryStops | undefined;
  readonly #kinds = new Map<string, DoPending>();
  /** Kinds whose work calls hooks. */
  readonly #inTurn = new Set<string>();
  /** Under way, by id. */
  readonly #running = new Map<string, Pick<PendingItem, "kind" | "key"> & { end: Promise<void> }>();
  /** The last work of each kind and key that is under way. */
  readonly #lines = new Map<string, Promise<boolean>>();
  /** Work that waits for its time or for another try, by id. */
  readonly #waiting = new Map<string, Pick<PendingItem, "kind" | "key"> & { timer: Timer }>();
  #finished: string[] = [];
  #deletion: Timer | undefined;
  readonly #ended = new Set<string>();
  #isStopped = false;

  constructor({ store, clock, logger, turn, stops }: PendingDeps) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
    this.#turn = turn;
    this.#stops = stops;
  }

  /** Sets the function that does the work of this kind. `callsHooks`: the work may crash the process, so it waits for its turn. */
  handle(kind: string, work: DoPending, { callsHooks = false } = {}): void {
    this.#kinds.set(kind, work);
    if (callsHooks) this.#inTurn.add(kind);
  }

  /** This work was written by a commit that holds. */
  added(items: readonly NewPending[]): void {
    for (const item of items) this.#take({ ...item, attempt: 1 }, false);
  }

  /** The caller did the work of this row itself. Such rows are deleted many at once, so that they cost no write of their own. */
  finished(id: string): void {
    this.#finished.push(id);
    if (this.#finished.length >= MAX_FINISHED) void this.deleteFinished();
    else this.#deletion ??= this.#clock.after(DELETE_EVERY_MS, () => void this.deleteFinished());
  }

  /** Starts work of these kinds that an earlier process left. Resolves when it is read, not when done. `fresh`: ids of this process. */
  async resume(kinds: readonly string[], fresh: ReadonlySet<string> = new Set()): Promise<void> {
    const now = this.#clock.now();
    for (const item of await this.#store.list(kinds))
      if (!this.#running.has(item.id) && !this.#waiting.has(item.id))
        this.#take({ ...item, cutOffs: this.#cutOffsOf(item) }, item.dueAt <= now && !fresh.has(item.id));
  }

  #cutOffsOf({ id, attempt }: PendingItem): number {
    const stops = this.#stops;
    // The first start is not counted on disk.
    if (stops?.wasLast && attempt === 1) stops.notedBefore(startOf(id));
    return attempt - (stops?.of(startOf(id)) ?? 0);
  }

  /** How much of this kind and key is not done yet. */
  count(kind: string, key: string): number {
    const all = [...this.#running.values(), ...this.#waiting.values()];
    return all.filter((one) => one.kind === kind && one.key === key).length;
  }

  /** Resolves when nothing of these kinds is under way. */
  async drained(kinds: readonly string[]): Promise<void> {
    for (;;) {
      const ends = [...this.#running.values()].filter(({ kind }) => kinds.includes(kind)).map(({ end }) => end);
      if (ends.length === 0) return;
      await Promise.all(ends);
    }
  }

  /** Starts no more work of these kinds. Resolves when the work under way has ended; the next start does the rest. */
  async end(kinds: readonly string[]): Promise<void> {
    for (const kind of kinds) this.#ended.add(kind);
    await this.drained(kinds);
  }

  /** Nothing is tried again; the next start does it. */
  stop(): void {
    this.#isStopped = true;
    for (const { timer } of this.#waiting.values()) timer.cancel();
    this.#waiting.clear();
  }

  #take(item: QueuedItem, isAgain: boolean): void {
    const waitMs = item.dueAt - this.#clock.now();
    if (waitMs <= 0) this.#run(item, isAgain);
    else this.#wait(item, isAgain, waitMs);
  }

  #wait(item: QueuedItem, isAgain: boolean, waitMs: number): void {
    const run = () => {
      this.#waiting.delete(item.id);
      this.#run(item, isAgain);
    };
    const { id, kind, key } = item;
    this.#waiting.set(id, { kind, key, timer: this.#clock.after(waitMs, run) });
  }

  #run(item: QueuedItem, isAgain: boolean): void {
    const line = `${item.kind} ${item.key}`;
    const work = (this.#lines.get(line) ?? Promise.resolve(true)).then(() => this.#do(item, isAgain));
    // The next work of the line does not wait for the disk.
    const end = work
      .then((isDone) => (isDone ? this.#store.done([item.id]) : undefined))
      .catch((error: unknown) =>
        this.#logger.error({ id: item.id, error: errorMessage(error) }, "finished work was not deleted"),
      )
      .finally(() => {
        this.#running.delete(item.id);
        if (this.#lines.get(line) === work) this.#lines.delete(line);
      });
    this.#lines.set(line, work);
    this.#running.set(item.id, { kind: item.kind, key: item.key, end });
  }

  /** Resolves with whether its row is to be deleted; never rejects. */
  async #do(item: QueuedItem, isAgain: boolean): Promise<boolean> {
    const { cutOffs = 0, ...row } = item;
    const { id, kind } = row;
    let { attempt } = row;
    if (this.#ended.has(kind)) return false;
    try {
      const work = this.#kinds.get(kind);
      if (work === undefined) throw new Error(`nothing does work of the kind ${kind}`);
      const start = async () => {
        // Counted right before, so that work which waits for its turn when the process dies has not been tried.
        if (isAgain) attempt = await this.#store.started(id);
        this.#stops?.started(startOf(id), attempt);
        return work({ ...row, attempt, stops: this.#stops?.of(startOf(id)) });
      };
      const pieces = await (this.#turn && this.#inTurn.has(kind) ? this.#turn(cutOffs, start) : start());
      this.#stops?.forget(startOf(id));
      if (!pieces) return true;
      await this.#store.replace(id, pieces);
      for (const piece of pieces) this.#take({ ...piece, attempt: 1, cutOffs: isAgain ? 1 : 0 }, isAgain);
      return false;
    } catch (error) {
      this.#stops?.ended(startOf(id));
      this.#logger.error(
        { id, kind, attempt, error: errorMessage(error) },
        "work after a change failed; it is tried again",
      );
      const pauseMs = doubledMs(PAUSE, attempt);
      if (!this.#isStopped) this.#wait({ ...row, attempt }, true, pauseMs);
      return false;
    }
  }

  /** Deletes all work that was `finished` so far, now. Never rejects: work that stays is looked up again at the next start. */
  async deleteFinished(): Promise<void> {
    this.#deletion?.cancel();
    this.#deletion = undefined;
    const ids = this.#finished;
    if (ids.length === 0) return;
    this.#finished = [];
    await this.#store
      .done(ids)
      .catch((error: unknown) => this.#logger.warn({ error: errorMessage(error) }, "finished work was not deleted"));
  }
}

/** Names the work where its starts are counted, beside messages and deliveries. */
const startOf = (id: string) => `pending ${id}`;
