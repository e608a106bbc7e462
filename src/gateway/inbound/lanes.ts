/**
 * The lanes of the inbox in memory: a bounded copy of what is unfinished, so that a row that was just stored need not be
 * read again. The store stays the truth; a lane that outgrew its copy is read on from there.
 */
import type { InboxRow, InboxStore } from "../../domain/store.js";
import { TransientMap } from "../../lib/transient-map.js";
import type { Handling } from "./handling.js";

/** Rows in memory, over all lanes. */
const MAX_ROWS = 2_000;
const READ_ROWS = 50;

/** A row with what this process knows about its handling. */
export interface LaneRow extends InboxRow {
  /** Counted as started on disk, for a handling that has not begun. */
  isStarted: boolean;
  /** message_received was fired in this process. */
  isReceived?: boolean;
  /** Handled; only the settling is left (the store refused it). */
  handled?: Handling;
}

interface Lane {
  rows: LaneRow[];
  /** The store may hold rows of this lane that `rows` does not. */
  hasMore: boolean;
  /** The last id that was in memory: the store is read on from there. */
  lastId: number;
  /** Accepts under way: their rows are not here yet. */
  coming: number;
  /** Rows that came while the store was being read. */
  missed: number;
}

export class Lanes {
  readonly #inbox: InboxStore;
  readonly #lanes = new TransientMap<string, Lane>();
  #rows = 0;

  constructor(inbox: InboxStore) {
    this.#inbox = inbox;
  }

  /** An event of this lane is about to be stored. True when it will be the lane's only one: it may be stored as started. */
  expect(name: string): boolean {
    const lane = this.#lane(name);
    lane.coming++;
    return lane.coming === 1 && lane.rows.length === 0 && !lane.hasMore;
  }

  /** Nothing came of it: a duplicate, or the store refused it. */
  expectNot(name: string): void {
    this.#lane(name).coming--;
    this.#forgetIdle(name);
  }

  /** The event that was expected is stored. */
  add(row: LaneRow): void {
    const lane = this.#lane(row.lane);
    lane.coming--;
    if (row.id <= lane.lastId) return; // a read of the store was quicker
    if (lane.hasMore || this.#rows >= MAX_ROWS) {
      lane.hasMore = true;
      lane.missed++;
      return;
    }
    lane.rows.push(row);
    lane.lastId = row.id;
    this.#rows++;
  }

  /** The store holds unfinished rows of this lane (after a start, or a revival): it is read anew. */
  reload(name: string): void {
    const lane = this.#lane(name);
    this.#rows -= lane.rows.length;
    lane.rows = [];
    lane.lastId = 0;
    lane.hasMore = true;
  }

  /** The row that is to be handled next, when it is in memory. */
  atHand(name: string): LaneRow | undefined {
    return this.#lanes.get(name)?.rows[0];
  }

  /** The row that is to be handled next, wherever it is; undefined when the lane is empty. */
  async head(name: string): Promise<LaneRow | undefined> {
    const lane = this.#lanes.get(name);
    if (!lane) return undefined;
    if (lane.rows.length === 0 && lane.hasMore) {
      lane.missed = 0;
      const read = await this.#inbox.lane(name, lane.lastId, READ_ROWS);
      lane.hasMore = read.length === READ_ROWS || lane.missed > 0;
      for (const row of read) lane.rows.push({ ...row, isStarted: false });
      lane.lastId = read.at(-1)?.id ?? lane.lastId;
      this.#rows += read.length;
    }
    return lane.rows[0];
  }

  /** The row after the head, when it is in memory. */
  second(name: string): LaneRow | undefined {
    return this.#lanes.get(name)?.rows[1];
  }

  /** The head is finished. */
  shift(name: string): void {
    const lane = this.#lane(name);
    if (lane.rows.shift()) this.#rows--;
    this.#forgetIdle(name);
  }

  #lane(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (!lane) {
      lane = { rows: [], hasMore: false, lastId: 0, coming: 0, missed: 0 };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #forgetIdle(name: string): void {
    const lane = this.#lanes.get(name);
    if (lane && lane.coming === 0 && lane.rows.length === 0 && !lane.hasMore) this.#lanes.delete(name);
  }
}
