/**
 * Does what must be done once after a commit. The caller that changes something writes the work with the change and adds it here; each kind
 * has one function that does it. Work that fails is tried again after a pause, and what a crash cut off at the next start, both
 * with a higher attempt.
 */
import type { NewPending, PendingItem, PendingStore } from "../domain/pending.js";
import type { Clock, Timer } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

/** Rejects when the work has to be tried again. */
export type DoPending = (item: PendingItem) => Promise<void>;

export interface PendingParts {
  store: PendingStore;
  clock: Clock;
  logger: Logger;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

export class Pending {
  readonly #store: PendingStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #kinds = new Map<string, DoPending>();
  /** Under way, by id. */
  readonly #running = new Map<string, { kind: string; end: Promise<void> }>();
  /** The last work of each kind and key that is under way. */
  readonly #lines = new Map<string, Promise<boolean>>();
  /** Work that waits for its time or for another try, by id. */
  readonly #waiting = new Map<string, Timer>();
  #isStopped = false;

  constructor({ store, clock, logger }: PendingParts) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** What does the work of this kind. */
  handle(kind: string, work: DoPending): void {
    this.#kinds.set(kind, work);
  }

  /** This work was written by a commit that holds. */
  added(items: readonly NewPending[]): void {
    for (const item of items) this.#take({ ...item, attempt: 1 });
  }

  /** Starts what an earlier process left of these kinds. Resolves when it has been started, not when it is done. */
  async resume(kinds: readonly string[]): Promise<void> {
    for (const item of await this.#store.list(kinds)) {
      if (this.#running.has(item.id) || this.#waiting.has(item.id)) continue;
      this.#take(item.dueAt > this.#clock.now() ? item : await this.#startedAgain(item));
    }
  }

  /** Resolves when nothing of these kinds is under way. */
  async drained(kinds: readonly string[]): Promise<void> {
    for (;;) {
      const ends = [...this.#running.values()].filter(({ kind }) => kinds.includes(kind)).map(({ end }) => end);
      if (ends.length === 0) return;
      await Promise.all(ends);
    }
  }

  /** Nothing is tried again; the next start does it. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#waiting.values()) timer.cancel();
    this.#waiting.clear();
  }

  #take(item: PendingItem): void {
    const { id, dueAt } = item;
    const waitMs = dueAt - this.#clock.now();
    const run = () => {
      this.#waiting.delete(id);
      this.#run(item);
    };
    if (waitMs <= 0) run();
    else this.#waiting.set(id, this.#clock.after(waitMs, run));
  }

  #run(item: PendingItem): void {
    const line = `${item.kind} ${item.key}`;
    const work = (this.#lines.get(line) ?? Promise.resolve(true)).then(() => this.#do(item));
    // The next work of the line does not wait for the disk.
    const end = work
      .then((isDone) => (isDone ? this.#store.done(item.id) : undefined))
      .catch((error: unknown) =>
        this.#logger.error({ id: item.id, error: errorMessage(error) }, "finished work was not deleted"),
      )
      .finally(() => {
        this.#running.delete(item.id);
        if (this.#lines.get(line) === work) this.#lines.delete(line);
      });
    this.#lines.set(line, work);
    this.#running.set(item.id, { kind: item.kind, end });
  }

  /** False when it failed; never rejects. */
  async #do(item: PendingItem): Promise<boolean> {
    const { id, kind, attempt } = item;
    try {
      const work = this.#kinds.get(kind);
      if (work === undefined) throw new Error(`nothing does work of the kind ${kind}`);
      await work(item);
      return true;
    } catch (error) {
      this.#logger.error(
        { id, kind, attempt, error: errorMessage(error) },
        "work after a change failed; it is tried again",
      );
      if (!this.#isStopped) this.#tryAgain(item);
      return false;
    }
  }

  #tryAgain(item: PendingItem): void {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (item.attempt - 1), LONGEST_PAUSE_MS);
    const again = async () => {
      this.#waiting.delete(item.id);
      this.#take(await this.#startedAgain(item));
    };
    this.#waiting.set(
      item.id,
      this.#clock.after(pauseMs, () =>
        again().catch((error: unknown) => {
          this.#logger.error({ id: item.id, error: errorMessage(error) }, "another try could not be counted");
          if (!this.#isStopped) this.#tryAgain(item);
        }),
      ),
    );
  }

  async #startedAgain(item: PendingItem): Promise<PendingItem> {
    return { ...item, attempt: await this.#store.started(item.id) };
  }
}
