/**
 * One seam: "there is something to do for key K at time T, one at a time per key". It says *look*; the store's rows say
 * *what*. In process it is a keyed queue and a timer (`lib/work.ts`); on Postgres it will be a shared queue.
 */
export interface Work {
  /**
   * Looks at `key` as soon as there is room, or at `atMs` (ms since the epoch). Looking twice before it began is one look;
   * a look asked for while the key is under way is done again right after; the earliest time asked for wins.
   */
  look(key: string, atMs?: number): void;
  /** Keys under way and keys waiting for room. */
  readonly depth: { active: number; waiting: number };
  /** No new looks; resolves when those under way have ended. */
  stop(): Promise<void>;
}

/** Does what is due for a key. A number = look again at that time (ms since the epoch). Throwing is reported and the key is looked at again with back-off. */
export type Look = (key: string) => Promise<number | undefined>;
