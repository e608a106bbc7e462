/**
 * The `Work` of domain/work.ts in one process (lib does not import domain, so it only has its shape): a queue of keys, first
 * come first served, at most `maxParallel` under way, each key one at a time; and one timer for the next key that falls due.
 * The store keeps the work to do; losing all of this loses nothing.
 */

import { errorMessage } from "../errors.js";
import type { Logger } from "../logger.js";
import { type Backoff, backoffMs } from "../time/backoff.js";
import type { Clock, Timer } from "../time/clock.js";
import { DueHeap } from "./due-heap.js";
import { PerKey } from "./per-key.js";

export interface KeyedWorkOptions {
  clock: Clock;
  /** Its times end waits, so they move with a clock that is set; else they are times of day, and stay. */
  isWaiting?: boolean;
  /** After a pass that threw. */
  backoff?: Backoff;
}

export interface WorkOptions extends KeyedWorkOptions {
  /** Does the work that is due for a key. A number = it is called again at that time (ms since the epoch). */
  processDue: (key: string) => Promise<number | undefined>;
  /** Keys under way at once, at most. */
  maxParallel: number;
  logger: Logger;
}

const BACKOFF: Backoff = { firstMs: 500, maxMs: 60_000 };

/** The state of one key. Its owner keeps one object per key, and may forget it while it is idle. */
export abstract class Key {
  readonly key: string;
  readonly share: Share;
  phase: "idle" | "due-later" | "waiting" | "active" = "idle";
  /** `due-later`: when. `active`: when it is processed again, if that was asked for. Else never. */
  nextAt = NEVER;
  /** Passes that threw, in a row. */
  failures = 0;

  constructor(key: string, share: Share) {
    this.key = key;
    this.share = share;
  }

  /** Does the work that is due for it. A number = it is called again at that time (ms since the epoch). */
  abstract processDue(): Promise<number | undefined>;

  get isIdle(): boolean {
    return this.phase === "idle";
  }
}

/** Keys of one kind: how many of them are under way at once, at most. */
export class Share {
  readonly maxParallel: number;
  readonly logger: Logger;
  active = 0;
  /** The keys that wait for room, in order, from `#first` on. */
  #waiting: Key[] = [];
  #first = 0;

  constructor(maxParallel: number, logger: Logger) {
    this.maxParallel = maxParallel;
    this.logger = logger;
  }

  get depth(): { active: number; waiting: number } {
    return { active: this.active, waiting: this.#waiting.length - this.#first };
  }

  get hasRoom(): boolean {
    return this.active < this.maxParallel;
  }

  push(key: Key): void {
    this.#waiting.push(key);
  }

  /** The next one that waits, while there is room. */
  take(): Key | undefined {
    if (this.#first === this.#waiting.length) {
      this.clear();
      return undefined;
    }
    if (!this.hasRoom) return undefined;
    const key = this.#waiting[this.#first++];
    if (this.#first === SLICE) {
      this.#waiting = this.#waiting.slice(SLICE);
      this.#first = 0;
    }
    return key;
  }

  clear(): void {
    if (this.#waiting.length === 0) return;
    this.#waiting = [];
    this.#first = 0;
  }
}

/** The front of the queue: this many are gone before it is cut. */
const SLICE = 1_000;
const NEVER = Number.POSITIVE_INFINITY;
const AT_ONCE = 0;

class NamedKey extends Key {
  readonly #processDue: WorkOptions["processDue"];

  constructor(key: string, share: Share, processDue: WorkOptions["processDue"]) {
    super(key, share);
    this.#processDue = processDue;
  }

  processDue(): Promise<number | undefined> {
    return this.#processDue(this.key);
  }
}

export function createWork({ processDue, maxParallel, logger, ...options }: WorkOptions) {
  const share = new Share(maxParallel, logger);
  const keys = new PerKey(
    (key) => new NamedKey(key, share, processDue),
    (key) => key.isIdle,
  );
  const work = new KeyedWork([share], options);
  return {
    wake: (key: string, atMs?: number): void => work.wake(keys.of(key), atMs),
    get depth() {
      return share.depth;
    },
    stop: () => work.stop(),
  };
}

export class KeyedWork {
  readonly #shares: readonly Share[];
  readonly #options: KeyedWorkOptions;
  #later = new DueHeap<Key>();
  #timer: Timer | undefined;
  #timerAt = NEVER;
  #isPumpScheduled = false;
  #isStopped = false;
  #onIdle: (() => void)[] = [];

  constructor(shares: readonly Share[], options: KeyedWorkOptions) {
    this.#shares = shares;
    this.#options = options;
    options.clock.onStep?.((stepMs) => this.#stepped(stepMs));
  }

  wake(key: Key, atMs = AT_ONCE): void {
    if (this.#isStopped) return;
    if (key.phase === "active") key.nextAt = Math.min(key.nextAt, atMs);
    else if (key.phase !== "waiting") this.#plan(key, atMs);
  }

  /** Takes a key that is idle, when there is room for it at once: no pass starts until the job that its caller owes to `run` has ended. */
  claim(key: Key): boolean {
    const { share } = key;
    if (this.#isStopped || !key.isIdle || share.depth.waiting > 0 || !share.hasRoom) return false;
    this.#begin(key);
    return true;
  }

  /** The job of a key that was claimed, in place of a pass. */
  run(key: Key, job: () => Promise<number | undefined>): void {
    void this.#end(key, job);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    for (const share of this.#shares) share.clear();
    this.#later.clear();
    if (this.#isQuiet) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  get #isQuiet(): boolean {
    return this.#shares.every(({ active }) => active === 0);
  }

  /** The key is not under way: into the queue when it is due, else onto the heap when that is news. */
  #plan(key: Key, atMs: number): void {
    if (atMs === AT_ONCE || atMs <= this.#options.clock.now()) this.#enqueue(key);
    else if (atMs < key.nextAt) {
      key.phase = "due-later";
      key.nextAt = atMs;
      this.#later.set(key, atMs);
      this.#armTimer();
    }
  }

  #enqueue(key: Key): void {
    if (key.phase === "due-later") this.#later.delete(key);
    key.phase = "waiting";
    key.nextAt = NEVER;
    key.share.push(key);
    this.#schedulePump();
  }

  /** Not at once: the caller of `wake` finishes its step first, and several calls of one step are one. */
  #schedulePump(): void {
    if (this.#isPumpScheduled) return;
    this.#isPumpScheduled = true;
    setImmediate(() => {
      this.#isPumpScheduled = false;
      for (const share of this.#shares)
        for (let key = share.take(); key; key = share.take()) {
          this.#begin(key);
          void this.#end(key, () => key.processDue());
        }
    });
  }

  #begin(key: Key): void {
    key.phase = "active";
    key.share.active++;
  }

  async #end(key: Key, job: () => Promise<number | undefined>): Promise<void> {
    const { clock, backoff = BACKOFF } = this.#options;
    const { share } = key;
    let againAt: number | undefined;
    try {
      againAt = await job();
      key.failures = 0;
    } catch (thrown) {
      key.failures++;
      const pauseMs = backoffMs(backoff, key.failures);
      againAt = clock.now() + pauseMs;
      share.logger.error(
        { key: key.key, err: thrown, attempt: key.failures, pauseMs },
        `work failed: ${errorMessage(thrown)}`,
      );
    }
    share.active--;
    this.#settle(key, Math.min(key.nextAt, againAt ?? NEVER));
  }

  #settle(key: Key, nextAt: number): void {
    if (this.#isStopped) {
      if (this.#isQuiet) for (const resolve of this.#onIdle.splice(0)) resolve();
      return;
    }
    key.phase = "idle";
    key.nextAt = NEVER;
    // A key that failed is not idle for long, so its back-off grows.
    if (nextAt < NEVER) this.#plan(key, nextAt);
    if (key.share.depth.waiting > 0) this.#schedulePump();
  }

  /** The clock was set: waits keep their length, and the timer is set again for keys that fall due earlier now. */
  #stepped(stepMs: number): void {
    if (this.#options.isWaiting) {
      const later = this.#later.all();
      this.#later.clear();
      for (const { key, dueAt } of later) {
        key.nextAt = dueAt + stepMs;
        this.#later.set(key, key.nextAt);
      }
    }
    this.#timer?.cancel();
    this.#timerAt = NEVER;
    this.#armTimer();
  }

  /** Arms one timer, for the key that is due first. */
  #armTimer(): void {
    const dueAt = this.#later.first?.dueAt ?? NEVER;
    if (dueAt === this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = dueAt;
    if (dueAt === NEVER) return;
    const { clock } = this.#options;
    this.#timer = clock.after(dueAt - clock.now(), () => this.#onDue());
  }

  #onDue(): void {
    this.#timerAt = NEVER;
    const now = this.#options.clock.now();
    for (let first = this.#later.first; first && first.dueAt <= now; first = this.#later.first) {
      this.#enqueue(first.key);
    }
    this.#armTimer();
  }
}
