/**
 * The lanes of the inbox in memory: a bounded copy of what is unfinished, so that a row that was just stored need not be
 * read again. The store stays the truth; a lane that outgrew its copy is read on from there.
 */
import { conversationOf } from "../../domain/event.js";
import type { InboxRow, InboxStore, Pause } from "../../domain/store.js";
import { PerKey } from "../../lib/per-key.js";
import { isIdleKey, type KeyState, newKeyState } from "../../lib/work.js";
import type { Handling } from "./handling.js";

/** Rows in memory, over all lanes. */
const MAX_ROWS = 2_000;
const READ_ROWS = 50;
/** Lanes that are listed as put off. */
const MAX_PUT_OFF = 200;

/** Marks the lane of a conversation's commands. */
export const COMMAND_LANE = "#commands";

/** A row with what this process knows about its handling. */
export interface LaneRow extends InboxRow {
  /** Formatted address of where it happened, with the chat id that holds now. */
  conversation: string;
  /** Counted as started on disk, for a handling that has not started. */
  isStarted: boolean;
  /** It was under way when an earlier process ended, which it may have crashed. */
  isCutOff?: boolean;
  /** When a row that was put off in this process is due, by the monotonic clock: the other one may be set meanwhile. */
  dueMs?: number;
  /** The hook that put it off last, and for how long. */
  putOff?: { by: string; askedMs: number };
  /** message_received was fired in this process. */
  isReceived?: boolean;
  /** It goes on without the hook that put it off too often: which one, and why for the record. */
  passedOver?: { by: string; reason: string };
  /** Hooks were asked about its reply in this process. */
  wasAsked?: boolean;
  /** Handled; only the settling is left (the store refused it). */
  handled?: Handling;
}

export interface Lane extends KeyState {
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
  readonly #lanes = new PerKey<Lane>(
    (name) => ({ rows: [], hasMore: false, lastId: 0, coming: 0, missed: 0, ...newKeyState(name) }),
    (lane) => isEmpty(lane) && isIdleKey(lane),
  );
  #rows = 0;

  constructor(inbox: InboxStore) {
    this.#inbox = inbox;
  }

  /** To be given back within the same turn, or while it is looked at or holds something: an idle one is forgotten. */
  of(name: string): Lane {
    return this.#lanes.of(name);
  }

  /** An event of this lane is about to be stored. True when it will be the lane's only one: it may be stored as started. */
  expect(lane: Lane): boolean {
    const isFirst = isEmpty(lane);
    // Ids of rows that were removed since then may be given again.
    if (isFirst) lane.lastId = 0;
    lane.coming++;
    return isFirst;
  }

  /** Nothing came of it: a duplicate, or the store refused it. */
  expectNot(lane: Lane): void {
    lane.coming--;
  }

  /** The event that was expected is stored. */
  add(lane: Lane, row: LaneRow): void {
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
  reload(name: string): Lane {
    const lane = this.of(name);
    this.#rows -= lane.rows.length;
    lane.rows = [];
    lane.lastId = 0;
    lane.hasMore = true;
    return lane;
  }

  /** Lanes that wait because a hook put off their first message (`deferMs`). */
  async putOffs(now: number): Promise<Pause[]> {
    const rows = await this.#inbox.list({ status: "deferred", limit: MAX_PUT_OFF });
    return rows
      .filter(({ error, dueAt }) => error === undefined && dueAt > now)
      .flatMap(({ lane: key, dueAt: until, id }) => {
        const head = this.#headOf(key);
        if (head?.id !== id || head.dueMs === 0) return []; // it is handled now
        const { by, askedMs } = head.putOff ?? { by: "a hook", askedMs: until - now };
        return [
          {
            key,
            until,
            askedMs,
            reason: `${by} put off a message (deferMs), and later ones wait for it`,
            isPutOff: true,
          },
        ];
      });
  }

  /** Offers deferred messages again now: those of one lane, or all. Gives the lanes to work. */
  async hurry(key: string | undefined, now: number): Promise<Lane[]> {
    const waiting = (await this.putOffs(now)).filter((pause) => key === undefined || pause.key === key);
    for (const pause of waiting) {
      const head = this.#headOf(pause.key);
      if (head) head.dueMs = 0;
    }
    return waiting.map((pause) => this.of(pause.key));
  }

  #headOf(key: string): LaneRow | undefined {
    return this.#lanes.of(key).rows[0];
  }

  /** The row that is to be handled next; undefined when the lane is empty. A promise when it has to be read. */
  head(lane: Lane): LaneRow | undefined | Promise<LaneRow | undefined> {
    return lane.rows.length === 0 && lane.hasMore ? this.#readOn(lane) : lane.rows[0];
  }

  /** The head is finished. */
  shift(lane: Lane): void {
    if (lane.rows.shift()) this.#rows--;
  }

  async #readOn(lane: Lane): Promise<LaneRow | undefined> {
    lane.missed = 0;
    const read = await this.#inbox.lane(lane.key, lane.lastId, READ_ROWS);
    lane.hasMore = read.length === READ_ROWS || lane.missed > 0;
    for (const row of read) {
      const isCutOff = row.status === "running";
      lane.rows.push({ conversation: conversationOf(row.event), isStarted: false, isCutOff, ...row });
    }
    lane.lastId = read.at(-1)?.id ?? lane.lastId;
    this.#rows += read.length;
    return lane.rows[0];
  }
}

const isEmpty = ({ rows, hasMore, coming }: Lane) => coming === 0 && rows.length === 0 && !hasMore;
