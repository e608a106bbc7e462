/**
 * One seam: "there is something to do for key K at time T, one at a time per key". It wakes a key; the store's rows show the work to do. It
 * is a keyed queue and a timer (`lib/concurrency/work.ts`).
 */
export interface Work {
  /**
   * Processes `key` as soon as there is room, or at `atMs` (ms since the epoch). Two calls before a pass started are one pass; a call
   * during a pass makes another right after it; the earliest time asked for wins.
   */
  wake(key: string, atMs?: number): void;
  /** Keys under way and keys waiting for room. */
  readonly depth: { active: number; waiting: number };
  /** No new passes; resolves when those under way have ended. */
  stop(): Promise<void>;
}

/**
 * Does the due work of a key. A number = it is called again at that time (ms since the epoch). A thrown error is reported, and it is called
 * again with back-off.
 */
export type ProcessDue = (key: string) => Promise<number | undefined>;
