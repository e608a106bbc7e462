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

export interface WorkOptions<K = string> {
  /** Does what is due for a key. A number = look again at that time (ms since the epoch). */
  look: (key: K) => Promise<number | undefined>;
  /** Keys under way at once, at most. */
  maxParallel: number;
  clock: Clock;
  logger: Logger;
  /** Its times end waits, so they move with a clock that is set; else they are times of day, and stay. */
  isWaiting?: boolean;
  /** After a look that threw. */
  backoff?: Backoff;
}

const BACKOFF: Backoff = { firstMs: 500, maxMs: 60_000 };

/** What this keeps for a key. A caller with one object per key passes that object, which saves a search. */
export interface KeyState {
  readonly key: string;
  phase: "idle" | "due-later" | "waiting" | "active";
  /** `due-later`: when. `active`: when to look again, if that was asked for. Else never. */
  nextAt: number;
  /** Looks that threw, in a row. */
  failures: number;
}

/** The front of the queue: this many are gone before it is cut. */
const SLICE = 1_000;
const NEVER = Number.POSITIVE_INFINITY;
const AT_ONCE = 0;

export const newKeyState = (key: string): KeyState => ({ key, phase: "idle", nextAt: NEVER, failures: 0 });
export const isIdleKey = ({ phase }: KeyState): boolean => phase === "idle";

export function createWork({ look, ...options }: WorkOptions) {
  const keys = new PerKey(newKeyState, isIdleKey);
  const work = new KeyedWork<KeyState>({ look: ({ key }) => look(key), ...options });
  return {
    look: (key: string, atMs?: number): void => work.look(keys.of(key), atMs),
    get depth() {
      return work.depth;
    },
    stop: () => work.stop(),
  };
}

/** Work by keys that their owner keeps: only idle ones may be forgotten. */
export class KeyedWork<K extends KeyState> {
  readonly #options: WorkOptions<K>;
  /** What waits for room, in order, from `#firstWaiting` on. */
  #waiting: K[] = [];
  #firstWaiting = 0;
  #later = new DueHeap<K>();
  #active = 0;
  #timer: Timer | undefined;
  #timerAt = NEVER;
  #isPumpScheduled = false;
  #isStopped = false;
  #onIdle: (() => void)[] = [];

  constructor(options: WorkOptions<K>) {
    this.#options = options;
    options.clock.onStep?.((stepMs) => this.#stepped(stepMs));
  }

  get depth(): { active: number; waiting: number } {
    return { active: this.#active, waiting: this.#waitingCount };
  }

  look(state: K, atMs = AT_ONCE): void {
    if (this.#isStopped) return;
    if (state.phase === "active") state.nextAt = Math.min(state.nextAt, atMs);
    else if (state.phase !== "waiting") this.#plan(state, atMs);
  }

  /** Takes a key that is idle, when there is room for it at once: no look begins until the job that its caller owes to `run` has ended. */
  claim(state: K): boolean {
    if (this.#isStopped || state.phase !== "idle") return false;
    if (this.#waitingCount > 0 || this.#active >= this.#options.maxParallel) return false;
    this.#begin(state);
    return true;
  }

  /** The job of a key that was claimed, in place of a look at it. */
  run(state: K, job: () => Promise<number | undefined>): void {
    void this.#end(state, job);
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
  #plan(state: K, atMs: number): void {
    if (atMs === AT_ONCE || atMs <= this.#options.clock.now()) this.#enqueue(state);
    else if (atMs < state.nextAt) {
      state.phase = "due-later";
      state.nextAt = atMs;
      this.#later.set(state, atMs);
      this.#armTimer();
    }
  }

  #enqueue(state: K): void {
    if (state.phase === "due-later") this.#later.delete(state);
    state.phase = "waiting";
    state.nextAt = NEVER;
    this.#waiting.push(state);
    this.#schedulePump();
  }

  /** Not at once: the caller of `look` finishes its step first, and several calls of one step are one. */
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
      const state = this.#waiting[this.#firstWaiting++] as K;
      if (this.#firstWaiting === SLICE) {
        this.#waiting = this.#waiting.slice(SLICE);
        this.#firstWaiting = 0;
      }
      this.#begin(state);
      void this.#end(state, () => this.#options.look(state));
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

  #begin(state: K): void {
    state.phase = "active";
    this.#active++;
  }

  async #end(state: K, job: () => Promise<number | undefined>): Promise<void> {
    const { clock, logger, backoff = BACKOFF } = this.#options;
    let againAt: number | undefined;
    try {
      againAt = await job();
      state.failures = 0;
    } catch (thrown) {
      state.failures++;
      const pauseMs = backoffMs(backoff, state.failures);
      againAt = clock.now() + pauseMs;
      logger.error(
        { key: state.key, err: thrown, attempt: state.failures, pauseMs },
        `work failed: ${errorMessage(thrown)}`,
      );
    }
    this.#active--;
    this.#settle(state, Math.min(state.nextAt, againAt ?? NEVER));
  }

  #settle(state: K, nextAt: number): void {
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

  /** The clock was set: what waits keeps its length, and the timer is set anew for what falls due earlier now. */
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

  /** One timer, for the key that is due first. */
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
