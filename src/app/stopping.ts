/** The parts that a stop closes, last opened first. All stages of it share its time. */

import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";

interface Options {
  /** The longest time of one stage. */
  limitMs: number;
  /** The time of all stages together, asked for when the stop begins. */
  totalMs(): number;
  clock: Pick<Clock, "monotonic">;
  logger: Logger;
}

const LEAST_MS = 1_000;

export class Stopping {
  readonly #options: Options;
  readonly #closers: (() => Promise<void>)[] = [];
  #by: number | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  push(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  /** Milliseconds that a stage has left. */
  get leftMs(): number {
    const { limitMs, clock } = this.#options;
    return this.#by === undefined ? limitMs : Math.max(LEAST_MS, Math.min(limitMs, this.#by - clock.monotonic()));
  }

  /** Never rejects: one that fails to close is logged and does not keep the others open. */
  async stop(): Promise<void> {
    const { totalMs, clock, logger } = this.#options;
    this.#by ??= clock.monotonic() + totalMs();
    for (let close = this.#closers.pop(); close; close = this.#closers.pop())
      await close().catch((error: unknown) => logger.error({ error: errorMessage(error) }, "closing failed"));
  }
}
