/**
 * Notices when the wall clock is set: it and the monotonic clock then move apart. (A machine that slept looks the same.) A wait for a
 * length of time is moved by the step; a wait for a time of day is planned again.
 */

import type { Logger } from "../logger.js";
import type { Clock } from "./clock.js";

/** How often it is read when no other code reads the clock. */
const COMPARE_EVERY_MS = 1_000;
/** Less is a clock that is adjusted gently. */
const MIN_STEP_MS = 500;

export interface SteppingClock extends Clock {
  onStep(listener: (stepMs: number) => void): () => void;
  /** Ends the watching. */
  stop(): void;
}

export function noticingSteps(clock: Clock, logger: Logger): SteppingClock {
  const listeners = new Set<(stepMs: number) => void>();
  let known = clock.now() - clock.monotonic();

  /** Every reading looks for a step: times computed with the old clock are moved before any is computed with the new one. */
  function now(): number {
    const read = clock.now();
    const stepMs = Math.round(read - clock.monotonic() - known);
    if (stepMs > MIN_STEP_MS || stepMs < -MIN_STEP_MS) stepped(stepMs);
    return read;
  }

  function stepped(stepMs: number): void {
    known += stepMs;
    logger.warn({ stepMs }, `The system clock moved ${stepMs < 0 ? "backward" : "forward"} by ${Math.abs(stepMs)} ms.`);
    for (const listener of listeners) listener(stepMs);
  }

  function compare(): void {
    timer = clock.after(COMPARE_EVERY_MS, compare);
    now();
    // A clock that is adjusted gently is followed.
    known = clock.now() - clock.monotonic();
  }

  let timer = clock.after(COMPARE_EVERY_MS, compare);
  return {
    now,
    monotonic: () => clock.monotonic(),
    processor: clock.processor,
    after: (delayMs, fn) => clock.after(delayMs, fn),
    onStep(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop: () => timer.cancel(),
  };
}
