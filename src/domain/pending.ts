/**
 * Work that must be done once after a commit. It is written in the transaction of the change that it belongs to and deleted when it is
 * done: work that a crash cut off is done again at the next start, under the same id.
 */

/** Work: hooks have to be notified that deliveries ended. Payload: `{ deliveries }`, the ids of all that ended in one transaction. */
export const DELIVERY_ENDS = "delivery ends";

/** Work: hooks have to be notified of an event that came in by HTTP. Payload: `{ event }`, its id. */
export const INGESTED_EVENT = "event";

/** Work: a person may need a note that no hook answered, when the hooks that may still answer have ended. Payload: `LateNote`. */
export const LATE_NOTE = "late note";

export interface NewPending {
  /** Names the work for good: a second one of this id changes nothing. */
  id: string;
  /** The kind whose handler does the work: see `Pending.handle`. */
  kind: string;
  /** Work of one kind and key is done in the order in which it was added. */
  key: string;
  /** ms since the epoch: not done before. 0 is at once, whatever the clock shows after a restart. */
  dueAt: number;
  /** JSON. */
  payload: object;
}

export interface PendingItem extends NewPending {
  /** How often it was started, this time included; 1 at the first. Counted on disk. */
  attempt: number;
  /** How many of these starts a stop of the gateway cut off: they are no crashes. */
  stops?: number | undefined;
}

export interface PendingStore {
  /** All work of these kinds, oldest first. `attempt` is the last one that was started. */
  list(kinds: readonly string[]): Promise<PendingItem[]>;
  /** Counts another start; resolves with its number. */
  started(id: string): Promise<number>;
  /** Deletes the work. */
  done(ids: readonly string[]): Promise<void>;
  /** Replaces work by these pieces, in one transaction. */
  replace(id: string, pieces: readonly NewPending[]): Promise<void>;
}
