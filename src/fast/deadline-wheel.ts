/**
 * All deadlines of a registry on one hashed wheel: arming one is a few writes, with no timer and no promise of its own.
 *
 * Time on the wheel is a count of ticks, read once a tick and not once a handler. A tick never counts for more than two:
 * when the process was blocked, handlers are not charged for time in which they could not run. The wheel turns only while
 * something is on it (and a moment longer, so that a busy process does not start and stop it for every message).
 *
 * Benchmark: bench/fast.ts, bench/dispatch.ts.
 */
import type { Clock, Timer } from "../lib/time/clock.js";

export const TICK_MS = 10;
const SLOTS = 512;
/** How many ticks with an empty wheel before it stops. */
const IDLE_TICKS = 100;
/** Deadlines below this are worth an exact reading of the clock: they are never early. Longer ones may be, by a tick. */
const EXACT_BELOW_TICKS = 100;
/** A turn that lasts ten times as long as the processor was used is mostly time in which the process did not run. */
const SUSPENDED_BELOW = 10;
/** A small integer, and not Infinity: with fractions in these fields arming would allocate. */
const NEVER = 2 ** 30 - 1;

/** Something with a deadline. Its owner extends it, so that arming allocates nothing. */
export abstract class Armed {
  /** The tick at which `expire` is due. */
  deadline: number;
  /** The tick at which the wheel looks at it next, while it is on the wheel. */
  lookAt: number;
  next: Armed | undefined;
  previous: Armed | undefined;

  constructor() {
    this.deadline = NEVER;
    this.lookAt = 0;
    this.next = undefined;
    this.previous = undefined;
  }

  /** Called at the deadline. It is off the wheel then, and may arm again. */
  abstract expire(): void;
}

class Slot extends Armed {
  override expire(): void {}
}

export class DeadlineWheel {
  readonly #clock: Clock;
  readonly #slots: Slot[] = [];
  /** Ticks so far. */
  #tick = 0;
  #isTurning = false;
  /** Time so far; the ticks are the whole ones in it. */
  #elapsedMs = 0;
  #readAtMs = 0;
  #processorAtMs = 0;
  /** How many are on the wheel. */
  #linked = 0;
  #idleTicks = 0;
  /** How many have a deadline: while there are any, the wheel keeps the process alive, so that a deadline is kept in a process that has nothing else to do. */
  #armed = 0;
  #timer: Timer | undefined;
  #keepsAlive = false;
  #isClosed = false;
  readonly #onTick = () => this.#turn();

  constructor(clock: Clock) {
    this.#clock = clock;
    for (let i = 0; i < SLOTS; i++) {
      const slot = new Slot();
      slot.next = slot;
      slot.previous = slot;
      this.#slots.push(slot);
    }
  }

  /**
   * Arms it `ticks` from now (see `ticksOf`), or moves its deadline. A later deadline costs one write: the wheel finds out
   * when it looks.
   */
  arm(item: Armed, ticks: number): void {
    if (!this.#isTurning) this.#start();
    if (item.deadline === NEVER) this.#armed++;
    if (!this.#keepsAlive) {
      this.#keepsAlive = true;
      this.#timer?.ref?.();
    }
    const deadline = this.#tick + (ticks >= EXACT_BELOW_TICKS ? ticks : ticks + this.#ticksSinceRead());
    item.deadline = deadline;
    if (item.next !== undefined && deadline >= item.lookAt) return;
    this.#relink(item);
  }

  /** Disarms an item that is armed often: it stays on the wheel until it is looked at, or armed again. */
  rest(item: Armed): void {
    if (item.deadline !== NEVER) this.#armed--;
    item.deadline = NEVER;
  }

  disarm(item: Armed): void {
    if (item.deadline !== NEVER) this.#armed--;
    item.deadline = NEVER;
    if (item.next === undefined) return;
    unlink(item);
    this.#linked--;
  }

  /**
   * Whether its deadline has passed by now: also when this turn of the event loop lasts so long that the wheel could not turn. A turn in which
   * the process was suspended (SIGSTOP, a frozen container) does not count: it finds all results at once, and late.
   */
  isPast(item: Armed): boolean {
    const passedMs = this.nowMs() - this.#readAtMs;
    const countedMs = passedMs > 2 * TICK_MS && this.#wasSuspended(passedMs) ? 2 * TICK_MS : passedMs;
    return this.#elapsedMs + countedMs >= item.deadline * TICK_MS;
  }

  /** Whether this turn of the event loop is so long that it hid a deadline of so long ago: else that was noticed late for another cause. */
  wasBlocked(lateMs: number): boolean {
    const passedMs = this.nowMs() - this.#readAtMs;
    return passedMs > 2 * TICK_MS && passedMs >= lateMs && !this.#wasSuspended(passedMs);
  }

  /** The process hardly used the processor in this turn. A busy machine leaves it more. */
  #wasSuspended(passedMs: number): boolean {
    const usedMs = (this.#clock.processor?.() ?? Number.POSITIVE_INFINITY) - this.#processorAtMs;
    return usedMs < passedMs / SUSPENDED_BELOW;
  }

  /**
   * A handler has returned. When this turn of the event loop lasts long, this handler is the more likely reason than those that return
   * after it: the turn is not charged to them.
   */
  returned(nowMs: number): void {
    if (!this.#isTurning || nowMs - this.#readAtMs <= 2 * TICK_MS) return;
    this.#elapsedMs += 2 * TICK_MS;
    this.#readAtMs = nowMs;
    this.#processorAtMs = this.#clock.processor?.() ?? 0;
  }

  nowMs(): number {
    return this.#clock.monotonic();
  }

  /** From now on no deadline keeps the process alive. */
  close(): void {
    this.#isClosed = true;
    this.#keepsAlive = true;
  }

  /** All armed items, with the ticks until their deadlines. Walks the whole wheel: for queries, not for hot paths. */
  *armed(): Generator<{ item: Armed; leftTicks: number }> {
    for (const slot of this.#slots)
      for (let item = slot.next as Armed; item !== slot; item = item.next as Armed)
        if (item.deadline !== NEVER) yield { item, leftTicks: item.deadline - this.#tick };
  }

  /** The time of the clock that is not counted in ticks yet, rounded up. */
  #ticksSinceRead(): number {
    const ms = this.#clock.monotonic() - this.#readAtMs + (this.#elapsedMs - this.#tick * TICK_MS);
    return Math.ceil(Math.min(Math.max(ms, 0), 2 * TICK_MS) / TICK_MS) | 0;
  }

  #relink(item: Armed): void {
    if (item.next === undefined) this.#linked++;
    else unlink(item);
    this.#link(item);
  }

  #link(item: Armed): void {
    const lookAt = Math.min(Math.max(item.deadline, this.#tick + 1), this.#tick + SLOTS - 1);
    item.lookAt = lookAt;
    const slot = this.#slots[lookAt % SLOTS] as Slot;
    item.next = slot;
    item.previous = slot.previous;
    (slot.previous as Armed).next = item;
    slot.previous = item;
  }

  #start(): void {
    this.#isTurning = true;
    this.#readAtMs = this.#clock.monotonic();
    this.#processorAtMs = this.#clock.processor?.() ?? 0;
    this.#elapsedMs = this.#tick * TICK_MS;
    this.#idleTicks = 0;
    this.#keepsAlive = this.#isClosed;
    this.#timer = this.#clock.after(TICK_MS, this.#onTick);
  }

  #turn(): void {
    const readAtMs = this.#clock.monotonic();
    this.#elapsedMs += Math.min(Math.max(readAtMs - this.#readAtMs, 0), 2 * TICK_MS);
    this.#readAtMs = readAtMs;
    this.#processorAtMs = this.#clock.processor?.() ?? 0;
    // The fractions that a clock gives do not add up to whole ticks.
    const until = Math.floor(this.#elapsedMs / TICK_MS + 1e-6);
    while (this.#tick < until) this.#expire(++this.#tick);
    this.#idleTicks = this.#linked === 0 ? this.#idleTicks + 1 : 0;
    this.#isTurning = this.#idleTicks <= IDLE_TICKS;
    this.#keepsAlive = this.#isClosed || this.#armed > 0;
    if (!this.#isTurning) return;
    this.#timer = this.#clock.after(TICK_MS, this.#onTick);
    if (this.#keepsAlive && !this.#isClosed) this.#timer.ref?.();
  }

  /** Two passes: expiring one may arm, disarm or move any other. */
  #expire(tick: number): void {
    const slot = this.#slots[tick % SLOTS] as Slot;
    let due: Armed[] | undefined;
    for (let item = slot.next as Armed; item !== slot; ) {
      const next = item.next as Armed;
      unlink(item);
      if (item.deadline > tick && item.deadline !== NEVER) this.#link(item);
      else {
        this.#linked--;
        if (item.deadline !== NEVER) {
          due ??= [];
          due.push(item);
        }
      }
      item = next;
    }
    if (due === undefined) return;
    for (const item of due) {
      if (item.next !== undefined || item.deadline > tick) continue; // armed again or disarmed by an item before it
      item.deadline = NEVER;
      this.#armed--;
      item.expire();
    }
  }
}

/** A timeout as the wheel counts it. The longest is about two months; longer ones are cut to that. */
export function ticksOf(timeoutMs: number): number {
  // `| 0` keeps it a small integer for the compiler too.
  return Math.min(Math.ceil(timeoutMs / TICK_MS), NEVER >> 1) | 0;
}

function unlink(item: Armed): void {
  const { previous, next } = item;
  if (previous !== undefined) previous.next = next;
  if (next !== undefined) next.previous = previous;
  item.next = undefined;
  item.previous = undefined;
}
