/**
 * Pending notifications of hooks: every delivery ends with `message_sent` or `delivery_failed`. The commit that ends a delivery notes
 * it as pending, and the notes are removed after the hooks were notified, many at once, so that they cost no write of their own. Notes
 * that a crash left are processed at the next start, under the same dispatch id.
 */
import type { OutboxStore } from "../../domain/store.js";
import type { Clock, Timer } from "../../lib/clock.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";

/** How long a note that is no longer true may stay: after a crash within it the journal is asked. */
const CLEAR_EVERY_MS = 1_000;
const MAX_AT_ONCE = 500;

export class PendingEnds {
  readonly #outbox: OutboxStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #told: string[] = [];
  #timer: Timer | undefined;

  constructor(outbox: OutboxStore, clock: Clock, logger: Logger) {
    this.#outbox = outbox;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The hooks have been told, well or badly. */
  settle(deliveryId: string): void {
    this.#told.push(deliveryId);
    if (this.#told.length >= MAX_AT_ONCE) void this.clear();
    else this.#timer ??= this.#clock.after(CLEAR_EVERY_MS, () => void this.clear());
  }

  /** Never rejects: what is not cleared is looked up once more at the next start. */
  async clear(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const told = this.#told;
    if (told.length === 0) return;
    this.#told = [];
    await this.#outbox
      .told(told)
      .catch((error: unknown) =>
        this.#logger.warn({ error: errorMessage(error) }, "notifications of hooks could not be marked as done"),
      );
  }
}
