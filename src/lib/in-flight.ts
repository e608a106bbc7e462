/** What is under way, so that a stop can wait for it. */
import { type Clock, wait } from "./clock.js";

export class InFlight {
  #count = 0;
  #waiting: (() => void)[] = [];
  readonly #ended = (): void => {
    this.#count--;
    if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  };

  /** Counts it until it settles. Gives it back. */
  add<T>(task: Promise<T>): Promise<T> {
    this.#count++;
    task.then(this.#ended, this.#ended);
    return task;
  }

  /** Resolves when nothing is under way, or after `limitMs`; without a limit however long that takes. */
  async idle(clock: Clock, limitMs?: number): Promise<void> {
    if (this.#count === 0) return;
    const ended = new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (limitMs === undefined) return ended;
    const limit = new AbortController();
    await Promise.race([ended, wait(clock, limitMs, limit.signal).catch(() => {})]); // aborted just below
    limit.abort();
  }
}
