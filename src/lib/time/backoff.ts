/** Exponential back-off: exact, or with full jitter on its upper half, so that many clients do not return at once. */
import { HookgateError } from "../errors.js";

/** A pause after a failure grows up to this. A longer pause that a platform asks for is cut to it: no platform is known to ask for more, and if one does, it refuses the next try, too. */
export const MAX_PAUSE_MS = 3_600_000;

export interface Backoff {
  firstMs: number;
  maxMs: number;
}

/** The pause before attempt `attempt + 1`, where `attempt` counts from 1: exact, for pauses that the docs promise or that must be the same after a restart. */
export function doubledMs({ firstMs, maxMs }: Backoff, attempt: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(30, Math.max(0, attempt - 1)));
}

/** Like `doubledMs`, with jitter: between half of that time and all of it. */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number = Math.random): number {
  const ceiling = doubledMs(backoff, attempt);
  return Math.round(ceiling / 2 + (ceiling / 2) * random());
}

/** Before a retry that a definition asks for: the pause doubles up to `MAX_PAUSE_MS`, or up to the first pause where that is longer. */
export function retryPauseMs(firstMs: number, attempt: number): number {
  return backoffMs({ firstMs, maxMs: Math.max(firstMs, MAX_PAUSE_MS) }, attempt);
}

/** The pause of `backoffMs`, or the longer one that the other side asked for with its refusal, up to `MAX_PAUSE_MS`. */
export function pauseAfter(error: unknown, backoff: Backoff, attempt: number): number {
  const askedMs = error instanceof HookgateError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(backoffMs(backoff, attempt), Math.min(askedMs, MAX_PAUSE_MS));
}
