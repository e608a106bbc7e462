/** A clock that moves only when told to. Timers fire in order of due time. */
import type { Clock, Timer } from "../../src/lib/time/clock.js";

export class ManualClock implements Clock {
  #now: number;
  #next = 1;
  /** The distance of the wall clock from the time that passes. */
  #setBy = 0;
  #listeners: ((stepMs: number) => void)[] = [];
  #timers = new Map<number, { at: number; fn: () => void }>();

  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now + this.#setBy;
  }

  onStep(listener: (stepMs: number) => void): () => void {
    this.#listeners.push(listener);
    return () => {
      this.#listeners = this.#listeners.filter((one) => one !== listener);
    };
  }

  /** The wall clock is set forward, or back when negative; no time passes. `isNoticed`: whether a running product sees it. */
  set(stepMs: number, isNoticed = true): void {
    this.#setBy += stepMs;
    if (isNoticed) for (const listener of this.#listeners) listener(stepMs);
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, fn: () => void): Timer {
    const id = this.#next++;
    this.#timers.set(id, { at: this.#now + Math.max(0, delayMs), fn });
    return { cancel: () => void this.#timers.delete(id) };
  }

  /** Moves time on, firing what falls due; lets promises settle between timers. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const due = [...this.#timers]
        .filter(([, timer]) => timer.at <= end)
        .sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (!due) break;
      this.#timers.delete(due[0]);
      this.#now = Math.max(this.#now, due[1].at);
      due[1].fn();
    }
    this.#now = Math.max(this.#now, end);
    await settle();
  }

  /** Time in which the process is busy: no timer fires. */
  block(ms: number): void {
    this.#now += ms;
  }
}

/** Lets everything that is ready run: promise jobs and immediates. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
