/**
 * Back-pressure: counts unfinished events, and accepts no more above the limit until some are finished. A platform's backlog is accepted
 * only as fast as it is handled from memory: then it need not be read from the disk again, and answers keep up with questions. One sender
 * gets a share of the limit, so that messages that wait for one slow hook keep no one else out.
 */

import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";

const ENOUGH_AT_HAND = 1_000;
/** This many messages of one sender count among those at hand. */
const AT_HAND_PER_SENDER = 100;
/** The limit is left when a tenth of it is free: at its edge it would be reached again with every message. */
const LEFT_AT = 0.9;
/** A platform that waits for so long is held back; in a busy minute it waits for moments. */
const HELD_AFTER_MS = 10_000;

interface Waiting {
  keepsBacklog: boolean;
  /** Monotonic. */
  since: number;
  go: () => void;
}

/** The unfinished messages of one sender. */
export interface SenderLoad {
  unfinished: number;
  /** Being written, and to be accepted next. */
  reserved: number;
  /** The share was reached: nothing more is taken until half of it is free. */
  isOver: boolean;
  /** The sender was notified of that. */
  isNotified: boolean;
}

/** Platforms are held back. */
export interface Held {
  forMs: number;
  unfinished: number;
}

/** A tenth of the limit. A small limit leaves a sender room for some messages in a row, and the others at least half of it. */
export const shareOf = (max: number) => Math.max(Math.ceil(max / 10), Math.min(20, Math.ceil(max / 2)));

export class Pressure {
  readonly #max: number;
  readonly #share: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Inbound events. */
  #unfinished = 0;
  /** The same, with a bounded number of each sender. */
  #atHand = 0;
  /** Deliveries that are sent from memory; those that wait for a retry or a pause do not count. */
  #unsent = 0;
  readonly #senders = new Map<string, SenderLoad>();
  #waiting: Waiting[] = [];
  /** Monotonic; undefined below the limit. */
  #fullSince: number | undefined;
  #isClosed = false;

  constructor(max: number, clock: Clock, logger: Logger) {
    this.#max = max;
    this.#share = shareOf(max);
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Resolves as soon as there is room for one more; at once after `close()`. First come, first served among those that wait for the same.
   */
  room(keepsBacklog: boolean): Promise<void> | undefined {
    if (this.#hasRoom(keepsBacklog) || this.#isClosed) return undefined;
    return new Promise((go) => this.#waiting.push({ keepsBacklog, since: this.#clock.monotonic(), go }));
  }

  /** This sender has a whole share unfinished, and nothing more of them is taken. Undefined: one more is. */
  overShare(sender: string | undefined): SenderLoad | undefined {
    const load = sender === undefined ? undefined : this.#senders.get(sender);
    return load?.isOver ? load : undefined;
  }

  /**
   * Counts one more that this sender is about to hand in, until the returned function is called. Gives the load of the sender instead, when
   * that keeps it out.
   */
  reserve(sender: string): SenderLoad | (() => void) {
    const load = this.#loadOf(sender);
    if (load.isOver || load.unfinished + load.reserved >= this.#share) return load;
    load.reserved++;
    this.#senders.set(sender, load);
    let isReserved = true;
    return () => {
      if (!isReserved) return;
      isReserved = false;
      load.reserved--;
      this.#forgetIdle(sender, load);
    };
  }

  /** No more is let in, or a platform waits for long. */
  get held(): Held | undefined {
    const now = this.#clock.monotonic();
    const waitedMs = this.#waiting[0] ? now - this.#waiting[0].since : 0;
    if (this.#fullSince === undefined && waitedMs < HELD_AFTER_MS) return undefined;
    return { forMs: Math.max(waitedMs, now - (this.#fullSince ?? now)), unfinished: this.#unfinished };
  }

  get isFull(): boolean {
    return this.#unfinished >= this.#max;
  }

  add(sender: string | undefined): void {
    this.#unfinished++;
    if (this.#changeLoad(sender, 1) <= AT_HAND_PER_SENDER) this.#atHand++;
    if (!this.isFull || this.#fullSince !== undefined) return;
    this.#fullSince = this.#clock.monotonic();
    this.#logger.warn(
      { unfinished: this.#unfinished },
      "gateway.max_waiting is reached: new messages wait on their platforms until some are handled; /status shows what most of them wait for",
    );
  }

  finished(sender: string | undefined): void {
    this.#unfinished--;
    if (this.#changeLoad(sender, -1) < AT_HAND_PER_SENDER) this.#atHand--;
    if (this.#unfinished <= this.#max * LEFT_AT) this.#fullSince = undefined;
    this.#letIn();
  }

  /** Deliveries came to those that are sent from memory, or left them. */
  unsent(change: number): void {
    this.#unsent += change;
    if (change < 0) this.#letIn();
  }

  /** Callers that wait continue, and find that the gateway is stopping. */
  close(): void {
    this.#isClosed = true;
    for (const { go } of this.#waiting.splice(0)) go();
  }

  /** Gives how many this sender has now; 0 for events without a sender. */
  #changeLoad(sender: string | undefined, change: 1 | -1): number {
    if (sender === undefined) return 0;
    const load = this.#loadOf(sender);
    load.unfinished += change;
    if (load.unfinished >= this.#share) load.isOver = true;
    else if (load.unfinished <= this.#share / 2) Object.assign(load, { isOver: false, isNotified: false });
    this.#senders.set(sender, load);
    this.#forgetIdle(sender, load);
    return load.unfinished;
  }

  #loadOf(sender: string): SenderLoad {
    return this.#senders.get(sender) ?? { unfinished: 0, reserved: 0, isOver: false, isNotified: false };
  }

  #forgetIdle(sender: string, { unfinished, reserved }: SenderLoad): void {
    if (unfinished + reserved === 0) this.#senders.delete(sender);
  }

  #hasRoom(keepsBacklog: boolean): boolean {
    if (this.isFull) return false;
    return !keepsBacklog || this.#atHand + this.#unsent < ENOUGH_AT_HAND;
  }

  #letIn(): void {
    if (this.#waiting.length === 0) return;
    const next = this.#waiting.findIndex(({ keepsBacklog }) => this.#hasRoom(keepsBacklog));
    if (next >= 0) this.#waiting.splice(next, 1)[0]?.go();
  }
}
