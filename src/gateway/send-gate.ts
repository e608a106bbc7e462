/**
 * Keeps sends apart from suspects (see `inbound/suspects.ts`). A suspect that crashes the process cuts off every request under way, and the
 * platform may have no way to recognise a repeated message: then that message is in doubt. So a suspect starts when no such request is
 * under way, and none starts while the suspect is handled. A queue that waits for a closed gate is woken when the gate opens, and goes
 * before the next suspect. The gate counts and makes no promises: without suspects it costs a send next to nothing.
 */
import type { Delivery } from "../domain/store.js";
import type { Clock, Timer } from "../lib/time/clock.js";

/** A suspect that takes longer holds no send back any more. */
const MAX_CLOSED_MS = 10_000;

export class SendGate {
  readonly #clock: Clock;
  /** A suspect that waited so long for requests under way starts beside them. */
  readonly #waitMs: number;
  /** Wakes a queue of the outbox. */
  readonly #wake: (queue: string) => void;
  /** A suspect that was refused may ask again. */
  onQuiet: () => void = () => {};
  #underWay = 0;
  #isClosed = false;
  /** A suspect waits until nothing is under way. */
  #isAwaited = false;
  /** The suspect that waits has waited long enough. */
  #isOverdue = false;
  #timer: Timer | undefined;
  #heldBack = new Set<string>();
  /** Queues that were held back and may send once, even if the gate closes before their pass. */
  readonly #passes = new Set<string>();

  constructor(clock: Clock, waitMs: number, wake: (queue: string) => void) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#wake = wake;
  }

  /** True when the request may be marked and written now, until `leave`. Else its queue is woken when it may. */
  enter(delivery: Delivery, queue: string): boolean {
    const hasPass = this.#passes.size > 0 && this.#passes.delete(queue);
    if (!hasPass && this.isClosedTo(delivery)) {
      this.#heldBack.add(queue);
      return false;
    }
    this.#underWay++;
    return true;
  }

  /** The result is stored. */
  leave(): void {
    this.#underWay--;
    this.#noteQuiet();
  }

  /** Answers to commands and presses go out all the same: an operator is never locked out. */
  isClosedTo({ cause, interaction }: Delivery): boolean {
    return this.#isClosed && cause.kind !== "command" && interaction === undefined;
  }

  get hasPasses(): boolean {
    return this.#passes.size > 0;
  }

  /** The pass over a queue ended: it had nothing to send after all. */
  passUnused(queue: string): void {
    if (this.#passes.delete(queue)) this.#noteQuiet();
  }

  /**
   * True when a suspect may start now, until `open`. Else no further request starts, and `onQuiet` is called when the suspect may ask
   * again.
   */
  close(): boolean {
    if (!this.#isQuiet && !this.#isOverdue) {
      if (this.#isAwaited) return false;
      this.#isAwaited = true;
      this.#limit(this.#waitMs);
      return false;
    }
    this.#isAwaited = false;
    this.#isOverdue = false;
    this.#limit(MAX_CLOSED_MS);
    return true;
  }

  /** The suspect is done. */
  open(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isAwaited = false;
    this.#isOverdue = false;
    this.#release();
  }

  #limit(ms: number): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(ms, () => {
      this.#timer = undefined;
      this.#isOverdue = this.#isAwaited;
      this.#isAwaited = false;
      this.#release();
      if (this.#isOverdue) this.onQuiet();
    });
  }

  #release(): void {
    this.#isClosed = false;
    const queues = this.#heldBack;
    if (queues.size === 0) return;
    this.#heldBack = new Set();
    for (const queue of queues) {
      this.#passes.add(queue);
      this.#wake(queue);
    }
  }

  #noteQuiet(): void {
    if (!this.#isQuiet) return;
    this.#isOverdue = false;
    if (this.#isAwaited) this.onQuiet();
  }

  get #isQuiet(): boolean {
    return this.#underWay === 0 && this.#passes.size === 0;
  }
}
