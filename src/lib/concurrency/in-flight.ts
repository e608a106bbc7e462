/** Counts the work under way, so that others can wait for its end. */
import type { Clock } from "../time/clock.js";
import { within } from "./within.js";

export class InFlight {
  #count = 0;
  #onEnd: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

  /** Counts one more piece of work, until `end` is called. */
  start(): void {
    this.#count++;
  }

  readonly end = (): void => {
    this.#count--;
    if (this.#onEnd.length > 0) for (const resolve of this.#onEnd.splice(0)) resolve();
  };

  /** Counts it until it settles. Gives it back. */
  add<T>(task: Promise<T>): Promise<T> {
    this.start();
    task.then(this.end, this.end);
    return task;
  }

  /** Resolves as soon as one has ended; at once when there is none. */
  oneEnded(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#onEnd.push(resolve));
  }

  /** Resolves when there is none. */
  async allEnded(): Promise<void> {
    while (this.#count > 0) await this.oneEnded();
  }

  /** Resolves when there is none, or after `limitMs`. */
  async allEndedWithin(clock: Clock, limitMs: number): Promise<void> {
    await within(clock, limitMs, this.allEnded());
  }
}
