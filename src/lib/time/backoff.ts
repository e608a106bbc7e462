/** Exponential back-off with full jitter on its upper half, so that many clients do not return at once. */
import { HookgateError } from "../errors.js";

/** A pause after a failure grows up to this, and one that a platform asks for is cut to it: no limit is known to last longer, and one that does is met again. */
export const MAX_PAUSE_MS = 3_600_000;

export interface Backoff {
  firstMs: number;
  maxMs: number;
}

/** The pause before attempt `attempt + 1`, where `attempt` counts from 1. */
export function backoffMs({ firstMs, maxMs }: Backoff, attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(maxMs, firstMs * 2 ** Math.min(30, Math.max(0, attempt - 1)));
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
