/**
 * The `Work` of domain/work.ts in one process (lib does not import domain, so it only has its shape): a queue of keys, first
 * come first served, at most `maxParallel` under way, each key one at a time; and one timer for the next key that falls due.
 * What there is to do stays in the store; losing all of this loses nothing.
 */
import { type Backoff, backoffMs } from "./backoff.js";
import type { Clock, Timer } from "./clock.js";
import { DueHeap } from "./due-heap.js";
import { errorMessage } from "./errors.js";
import type { Logger } from "./logger.js";
import { PerKey } from "./per-key.js";

export interface WorkOptions {
  /** Does what is due for a key. A number = look again at that time (ms since the epoch). */
  look: (key: string) => Promise<number | undefined>;
  /** Keys under way at once, at most. */
  maxParallel: number;
  clock: Clock;
  logger: Logger;
  /** After a look that threw. */
  backoff?: Backoff;
}

const BACKOFF: Backoff = { firstMs: 500, maxMs: 60_000 };

interface KeyState {
  readonly key: string;
  phase: "idle" | "due-later" | "waiting" | "active";
  /** `due-later`: when. `active`: when to look again, if that was asked for. Else never. */
  nextAt: number;
  /** Looks that threw, in a row. */
  failures: number;
}

/** Of the queue: so many are gone before it is cut. */
const SLICE = 1_000;
const NEVER = Number.POSITIVE_INFINITY;
const AT_ONCE = 0;

export function createWork(options: WorkOptions): KeyedWork {
  return new KeyedWork(options);
}

class KeyedWork {
  readonly #options: WorkOptions;
  readonly #keys = new PerKey<KeyState>(
    (key) => ({ key, phase: "idle", nextAt: NEVER, failures: 0 }),
    ({ phase }) => phase === "idle",
  );
  /** What waits for room, in order, from `#firstWaiting` on. */
  #waiting: KeyState[] = [];
  #firstWaiting = 0;
  #later = new DueHeap();
  #active = 0;
  #timer: Timer | undefined;
  #timerAt = NEVER;
  #isPumpScheduled = false;
  #isStopped = false;
  #onIdle: (() => void)[] = [];

  constructor(options: WorkOptions) {
    this.#options = options;
  }

  get depth(): { active: number; waiting: number } {
    return { active: this.#active, waiting: this.#waitingCount };
  }

  look(key: string, atMs = AT_ONCE): void {
    if (this.#isStopped) return;
    const state = this.#keys.of(key);
    if (state.phase === "active") state.nextAt = Math.min(state.nextAt, atMs);
    else if (state.phase !== "waiting") this.#plan(state, atMs);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#forgetWaiting();
    this.#later.clear();
    if (this.#active === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** The key is not under way: into the queue when it is due, else onto the heap when that is news. */
  #plan(state: KeyState, atMs: number): void {
    if (atMs === AT_ONCE || atMs <= this.#options.clock.now()) this.#enqueue(state);
    else if (atMs < state.nextAt) {
      state.phase = "due-later";
      state.nextAt = atMs;
      this.#later.set(state.key, atMs);
      this.#armTimer();
    }
  }

  #enqueue(state: KeyState): void {
    if (state.phase === "due-later") this.#later.delete(state.key);
    state.phase = "waiting";
    state.nextAt = NEVER;
    this.#waiting.push(state);
    this.#schedulePump();
  }

  /** Not at once: whoever calls `look` finishes its step first, and looks of one step are one. */
  #schedulePump(): void {
    if (this.#isPumpScheduled) return;
    this.#isPumpScheduled = true;
    setImmediate(() => {
      this.#isPumpScheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#waitingCount > 0) {
      if (this.#active >= this.#options.maxParallel) return;
      const state = this.#waiting[this.#firstWaiting++] as KeyState;
      if (this.#firstWaiting === SLICE) {
        this.#waiting = this.#waiting.slice(SLICE);
        this.#firstWaiting = 0;
      }
      void this.#run(state);
    }
    this.#forgetWaiting();
  }

  get #waitingCount(): number {
    return this.#waiting.length - this.#firstWaiting;
  }

  #forgetWaiting(): void {
    this.#waiting = [];
    this.#firstWaiting = 0;
  }

  async #run(state: KeyState): Promise<void> {
    const { look, clock, logger, backoff = BACKOFF } = this.#options;
    const { key } = state;
    state.phase = "active";
    this.#active++;
    let againAt: number | undefined;
    try {
      againAt = await look(key);
      state.failures = 0;
    } catch (thrown) {
      state.failures++;
      const pauseMs = backoffMs(backoff, state.failures);
      againAt = clock.now() + pauseMs;
      logger.error({ key, err: thrown, attempt: state.failures, pauseMs }, `work failed: ${errorMessage(thrown)}`);
    }
    this.#active--;
    this.#settle(state, Math.min(state.nextAt, againAt ?? NEVER));
  }

  #settle(state: KeyState, nextAt: number): void {
    if (this.#isStopped) {
      if (this.#active === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
      return;
    }
    state.phase = "idle";
    state.nextAt = NEVER;
    // One that failed is not idle for long, so its back-off grows.
    if (nextAt < NEVER) this.#plan(state, nextAt);
    if (this.#waitingCount > 0) this.#schedulePump();
  }

  /** One timer, for whichever key is first. */
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
      this.#enqueue(this.#keys.of(first.key));
    }
    this.#armTimer();
  }
}
