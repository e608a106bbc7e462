/** Exponential back-off with full jitter on its upper half, so that many clients do not return at once. */

export interface Backoff {
  firstMs: number;
  maxMs: number;
}

/** The pause before attempt `attempt + 1`, where `attempt` counts from 1. */
export function backoffMs({ firstMs, maxMs }: Backoff, attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(maxMs, firstMs * 2 ** Math.min(30, Math.max(0, attempt - 1)));
  return Math.round(ceiling / 2 + (ceiling / 2) * random());
}
