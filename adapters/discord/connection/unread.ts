/**
 * Frames that come faster than they are worked off, kept as the text that they are: an event read is a graph of objects several
 * times as large, which every collection of garbage would walk. Taken in order as the gateway has room, and not waited for
 * longer than a person waits: when there is none for a moment, or the oldest has waited too long, all go to the inbox on disk.
 * Frames that are unread or on their way to the disk are bounded: beyond that, no more frames are taken (`isTooMuch`).
 */
import type { Clock, Timer } from "../../../src/lib/time/clock.js";

/** Events on their way to the disk at once. They share commits. */
const MAX_READ_AT_ONCE = 100;
/** Nothing was worked off for so long: the gateway is not busy, it is stuck. */
const STUCK_MS = 1_000;
const MAX_WAIT_MS = 10_000;

/** Characters of frames. */
const MAX_UNREAD = 16 * 1024 * 1024;
/** Events that the inbox has not taken yet, when frames do not wait for room. */
const MAX_PUSHED = 10_000;
/** Frames read in one turn, when they do not wait for room. */
const SLICE = 200;

export interface UnreadFrame {
  text: string;
  /** When it came. */
  since: number;
}

export class Unread<T extends UnreadFrame> {
  readonly #room: () => Promise<void> | undefined;
  readonly #read: (what: T) => void;
  readonly #clock: Clock;
  #frames: T[] = [];
  #head = 0;
  #size = 0;
  #underWay = 0;
  /** The gateway has no room, and reports when it has. */
  #isFull = false;
  /** Waiting and new frames go on, whether there is room or not. */
  #isImpatient = false;
  #slice: NodeJS.Immediate | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(room: () => Promise<void> | undefined, read: (what: T) => void, clock: Clock) {
    this.#room = room;
    this.#read = read;
    this.#clock = clock;
  }

  /** A frame that comes now must wait its turn. Asks the gateway for room, and goes on when it has some. */
  mustWait(): boolean {
    if (this.#isClosed) return false;
    return this.#head < this.#frames.length || (!this.#isImpatient && !this.#hasRoom());
  }

  /** Nothing more should be heard before some of it is done. */
  get isTooMuch(): boolean {
    return this.#size > MAX_UNREAD || this.#underWay > MAX_PUSHED;
  }

  add(what: T): void {
    this.#size += what.text.length;
    this.#frames.push(what);
    this.#timer ??= this.#watch();
  }

  /** An event is on its way to the disk. */
  begun(): void {
    this.#underWay++;
  }

  ended(): void {
    this.#underWay--;
    this.#go();
  }

  /** Reads all that waits, at once. */
  hurry(): void {
    while (!this.#isClosed && this.#head < this.#frames.length) this.#next();
  }

  /** Reads nothing any more. Gives the frames that are still unread: they come again with the next connection. */
  close(): T[] {
    this.#isClosed = true;
    this.#timer?.cancel();
    clearImmediate(this.#slice);
    const left = this.#frames.slice(this.#head);
    this.#frames = [];
    this.#head = 0;
    this.#size = 0;
    return left;
  }

  #go(): void {
    if (this.#isImpatient) {
      if (this.#head < this.#frames.length) {
        this.#push();
        return;
      }
      this.#isImpatient = this.#isFull;
    }
    while (!this.#isClosed && this.#head < this.#frames.length && this.#hasRoom()) this.#next();
  }

  /** Without room: some in each turn, so that everything else goes on, and as many as the inbox may have before it. */
  #push(): void {
    this.#slice ??= setImmediate(() => {
      this.#slice = undefined;
      for (let n = 0; n < SLICE && this.#head < this.#frames.length && this.#underWay <= MAX_PUSHED; n++) this.#next();
      if (this.#head === this.#frames.length) this.#go();
      else if (this.#underWay <= MAX_PUSHED) this.#push();
    });
  }

  #next(): void {
    const what = this.#frames[this.#head] as T;
    this.#head++;
    this.#size -= what.text.length;
    if (this.#head === this.#frames.length || this.#head >= 1024) {
      this.#frames.splice(0, this.#head);
      this.#head = 0;
    }
    this.#read(what);
  }

  #hasRoom(): boolean {
    if (this.#underWay >= MAX_READ_AT_ONCE || this.#isFull) return false;
    const room = this.#room();
    if (!room) return true;
    this.#isFull = true;
    void room.then(() => {
      this.#isFull = false;
      this.#go();
    });
    return false;
  }

  #watch(): Timer {
    const first = this.#frames[this.#head];
    return this.#clock.after(STUCK_MS, () => {
      this.#timer = undefined;
      const oldest = this.#frames[this.#head];
      if (!oldest || this.#isClosed) return;
      if (oldest === first || this.#clock.now() - oldest.since >= MAX_WAIT_MS) {
        this.#isImpatient = true;
        this.#go();
      } else this.#timer = this.#watch();
    });
  }
}
