/** A clock that goes as the real one does and can be made to leap, for a whole product in which time matters. Timers fire in order of due time. */
import type { Clock, Timer } from "../../src/lib/time/clock.js";

interface Pending {
  dueAt: number;
  fn: () => void;
  handle: NodeJS.Timeout | undefined;
}

export class LeapClock implements Clock {
  #offset: number;
  #pending = new Set<Pending>();

  /** `startMs`: what it shows now. */
  constructor(startMs: number = Date.now()) {
    this.#offset = startMs - Date.now();
  }

  now(): number {
    return Date.now() + this.#offset;
  }

  monotonic(): number {
    return performance.now() + this.#offset;
  }

  after(delayMs: number, fn: () => void): Timer {
    const pending: Pending = { dueAt: this.now() + Math.max(0, delayMs), fn, handle: undefined };
    this.#pending.add(pending);
    this.#arm(pending);
    return {
      cancel: () => {
        clearTimeout(pending.handle);
        this.#pending.delete(pending);
      },
    };
  }

  /** It is `ms` later all at once; what fell due meanwhile fires now, each once. */
  leap(ms: number): void {
    this.#offset += ms;
    const now = this.now();
    const due = [...this.#pending].filter(({ dueAt }) => dueAt <= now).sort((a, b) => a.dueAt - b.dueAt);
    for (const pending of due) this.#fire(pending);
    for (const pending of this.#pending) this.#arm(pending);
  }

  leapTo(atMs: number): void {
    this.leap(atMs - this.now());
  }

  #arm(pending: Pending): void {
    clearTimeout(pending.handle);
    const remainingMs = Math.min(Math.max(0, pending.dueAt - this.now()), 2 ** 30);
    pending.handle = setTimeout(() => {
      if (pending.dueAt > this.now()) this.#arm(pending);
      else this.#fire(pending);
    }, remainingMs);
    pending.handle.unref();
  }

  #fire(pending: Pending): void {
    clearTimeout(pending.handle);
    // One that fires may have taken another away.
    if (this.#pending.delete(pending)) pending.fn();
  }
}
