/**
 * The answer to a command while it runs: progress is posted once and then edited in place, at most once a second; the final
 * answer replaces it. A command without progress has one answer and nothing of this shows.
 */
import type { OutboundMessage } from "../../domain/chat/message.js";
import { queueOf } from "../../domain/deliveries/outbox-queue.js";
import type { NewDelivery } from "../../domain/store.js";
import { errorMessage } from "../../lib/errors.js";
import { newId } from "../../lib/id.js";
import type { Timer } from "../../lib/time/clock.js";
import type { Inbound } from "./receiving.js";

const EDIT_EVERY_MS = 1_000;

export class LiveAnswer {
  readonly #base: NewDelivery;
  readonly #inbound: Inbound;
  /** The delivery that edits address, once there is one. */
  #target: string | undefined;
  #latest: OutboundMessage | undefined;
  #posting: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isOver = false;

  /** `base`: the answer's delivery without its message. `target`: edit the message that this delivery posted, instead of posting. */
  constructor(base: NewDelivery, target: string | undefined, inbound: Inbound) {
    this.#base = base;
    this.#target = target;
    this.#inbound = inbound;
  }

  progress(message: OutboundMessage): void {
    if (this.#isOver) return;
    this.#latest = message;
    if (!this.#posting && !this.#timer) this.#posting = this.#post();
  }

  /** The delivery that shows the final answer. No progress is shown after it. */
  async finish(message: OutboundMessage): Promise<NewDelivery> {
    this.#isOver = true;
    this.#timer?.cancel();
    await this.#posting;
    return this.#show(message);
  }

  async #post(): Promise<void> {
    const message = this.#latest;
    if (!message) return;
    this.#latest = undefined;
    const { store, clock, logger, wakeOutbox } = this.#inbound;
    const delivery = this.#show(message);
    try {
      await store.outbox.enqueue([delivery], clock.now());
      this.#target ??= delivery.id;
      wakeOutbox(queueOf(delivery));
    } catch (error) {
      // Progress is a courtesy; the answer itself is settled with the command.
      logger.warn({ delivery: delivery.id, error: errorMessage(error) }, "progress could not be shown");
    }
    this.#posting = undefined;
    if (this.#isOver) return;
    this.#timer = clock.after(EDIT_EVERY_MS, () => {
      this.#timer = undefined;
      if (this.#latest && !this.#isOver) this.#posting = this.#post();
    });
  }

  #show(message: OutboundMessage): NewDelivery {
    if (this.#target === undefined) return { ...this.#base, message };
    return { ...this.#base, id: newId("d"), operation: "edit", targetId: this.#target, message };
  }
}
