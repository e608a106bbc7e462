/** Hands records to the writer in batches, without waiting. A batch that is not confirmed is kept and sent again to the next writer. */
import type { DispatchRecord, RunNames } from "../../domain/journal.js";
import { HookgateError } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock, Timer } from "../../lib/time/clock.js";
import type { WriterLink } from "./link.js";
import type { JournalReply } from "./protocol.js";
import { type FullPack, Waiting } from "./waiting.js";

/** Waking the writer's thread costs as much as a message, so records wait for others: for this time, or until a pack is full. */
const GATHER_MS = 40;
/** Two: one that is being written and one that is ready for the writer. Other records stay here, where they can be dropped. */
const MAX_BATCHES_UNDER_WAY = 2;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
const WARN_EVERY_MS = 30_000;
const FLUSH_WAIT_MS = 15_000;

export interface SenderOptions {
  clock: Clock;
  logger: Logger;
  maxPending: number;
  file: string;
}

interface Batch extends FullPack {
  batch: number;
  /** Number of the last record in it. */
  lastRecord: number;
}

interface Flush {
  upTo: number;
  resolve(): void;
  timer: Timer;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #link: WriterLink;
  readonly #waiting = new Waiting();
  #underWay: Batch[] = [];
  /** Records taken so far; the last one's number. */
  #taken = 0;
  /** Up to this number all records are on disk, or given up on. */
  #done = 0;
  #lastBatch = 0;
  #phase: "new" | "starting" | "ready" = "new";
  #gathering: Timer | undefined;
  #flushes: Flush[] = [];
  #lost = 0;
  #lostAndWarned = 0;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(link: WriterLink, options: SenderOptions) {
    this.#link = link;
    this.#options = options;
  }

  get lost(): number {
    return this.#lost;
  }

  /** Throws when the record cannot be written down. */
  push(dispatch: DispatchRecord, names?: RunNames): void {
    const isFull = this.#waiting.add(dispatch, names);
    this.#taken++;
    if (isFull) this.#send();
    else this.#sendSoon();
    const isTooMuch = this.#waiting.length > this.#options.maxPending;
    if (isTooMuch || (isFull && this.#waiting.size > MAX_PENDING_BYTES)) this.#dropOldest();
  }

  #sendSoon(): void {
    this.#gathering ??= this.#options.clock.after(GATHER_MS, () => {
      this.#gathering = undefined;
      this.#send();
    });
  }

  /** Makes sure that there is a writer, for requests beside the records. True when it is ready. */
  wake(): boolean {
    if (this.#phase === "new") {
      this.#phase = "starting";
      this.#link.start();
    }
    return this.#phase === "ready";
  }

  /** Resolves when all records that were pushed so far are on disk or were given up on; rejects when the writer takes too long. */
  flush(): Promise<void> {
    if (this.#done >= this.#taken) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = this.#options.clock.after(FLUSH_WAIT_MS, () => {
        this.#flushes = this.#flushes.filter((flush) => flush.timer !== timer);
        this.#link.hold(this.#flushes.length > 0);
        reject(
          new HookgateError({
            code: "STORE_FAILED",
            message: `the journal ${this.#options.file} does not keep up: not written within ${FLUSH_WAIT_MS / 1000} s`,
            retryable: true,
          }),
        );
      });
      this.#flushes.push({ upTo: this.#taken, resolve, timer });
      this.#link.hold(true);
      this.#send();
    });
  }

  onReply(reply: Extract<JournalReply, { kind: "ready" | "written" | "refused" }>): void {
    switch (reply.kind) {
      case "ready":
        this.#phase = "ready";
        this.#confirm(reply.lastBatch);
        for (const { batch, pack } of this.#underWay) this.#link.post({ kind: "write", batch, pack });
        break;
      case "written":
        this.#confirm(reply.batch);
        break;
      case "refused":
        this.#lose(this.#underWay.find(({ batch }) => batch === reply.batch)?.length ?? 0, reply.message);
        this.#confirm(reply.batch);
        break;
    }
    if (reply.kind === "ready" || this.#flushes.length > 0 || this.#waiting.hasFull) this.#send();
    else if (this.#waiting.length > 0) this.#sendSoon();
  }

  #send(): void {
    if (this.#waiting.length === 0 || !this.wake()) return;
    while (this.#mayPost()) {
      const next = this.#waiting.take();
      if (!next) return;
      const batch = { ...next, batch: ++this.#lastBatch, lastRecord: this.#taken - this.#waiting.length };
      this.#underWay.push(batch);
      this.#link.post({ kind: "write", batch: batch.batch, pack: batch.pack });
    }
  }

  /** A second batch is posted only when it is full: many small batches cost more than they gain. */
  #mayPost(): boolean {
    return this.#underWay.length === 0 || (this.#underWay.length < MAX_BATCHES_UNDER_WAY && this.#waiting.hasFull);
  }

  #confirm(batch: number): void {
    while (this.#underWay[0] && this.#underWay[0].batch <= batch) {
      this.#done = this.#underWay[0].lastRecord;
      this.#underWay.shift();
    }
    if (this.#flushes.length === 0) return;
    this.#flushes = this.#flushes.filter((flush) => {
      if (flush.upTo > this.#done) return true;
      flush.timer.cancel();
      flush.resolve();
      return false;
    });
    this.#link.hold(this.#flushes.length > 0);
  }

  /** Operators look for failures, so they stay unless there is nothing else. */
  #dropOldest(): void {
    this.#lose(this.#waiting.halve(), "records come faster than the journal can be written");
  }

  #lose(count: number, why: string): void {
    this.#lost += count;
    const { clock, logger, file } = this.#options;
    if (clock.monotonic() - this.#warnedAt < WARN_EVERY_MS) return;
    this.#warnedAt = clock.monotonic();
    const lost = this.#lost - this.#lostAndWarned;
    this.#lostAndWarned = this.#lost;
    logger.warn({ file, lost, lostEver: this.#lost }, `the journal lost ${lost} records: ${why}`);
  }
}
