/** Work that only a stop waits for: observers of what has already happened. Failures are logged, never lost. */
import { RESOLVED } from "../hooks/dispatch/void.js";
import { InFlight } from "../lib/concurrency/in-flight.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

const CROWD = 1_000;

export class Background {
  readonly #logger: Logger;
  readonly #running = new InFlight();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** `ended` is called in either case. */
  run(what: string, work: Promise<unknown>, ended?: () => void): void {
    // No handler ran, or each ended at once: there is nothing to wait for.
    if (work === RESOLVED) {
      ended?.();
      return;
    }
    this.#running.start();
    const end = (): void => {
      this.#running.end();
      ended?.();
    };
    work.then(end, (error) => {
      this.#logger.warn({ what, error: errorMessage(error) }, "background work failed");
      end();
    });
  }

  /** True when so much is under way that a caller which adds more should wait for some. */
  get isCrowded(): boolean {
    return this.#running.count > CROWD;
  }

  /** Resolves as soon as one has ended (at once when there is none). */
  oneDone(): Promise<void> {
    return this.#running.oneEnded();
  }

  drained(): Promise<void> {
    return this.#running.allEnded();
  }
}
