/** Work that nobody waits for but a stop: observers of what has already happened. Failures are logged, never lost. */
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

export class Background {
  readonly #logger: Logger;
  readonly #running = new Set<Promise<void>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** `ended` is called in either case. */
  run(what: string, work: Promise<unknown>, ended?: () => void): void {
    const end = (): void => {
      this.#running.delete(watched);
      ended?.();
    };
    const watched: Promise<void> = work.then(end, (error) => {
      this.#logger.warn({ what, error: errorMessage(error) }, "background work failed");
      end();
    });
    this.#running.add(watched);
  }

  /** Above this many, whoever adds more should wait for some. */
  get isCrowded(): boolean {
    return this.#running.size > 1_000;
  }

  /** Resolves as soon as one has ended (at once when there is none). */
  async oneDone(): Promise<void> {
    if (this.#running.size > 0) await Promise.race(this.#running);
  }

  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
