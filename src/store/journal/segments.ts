/**
 * The journal's records as segments: one row a batch, its pack as it came, and its traits (traits.ts). A quiet gateway makes small batches;
 * small segments at the end are joined now and then, so that a search need not ask thousands.
 */
import type { Database } from "better-sqlite3";
import { Pack } from "../../fast/pack/pack.js";
import { Packer } from "../../fast/pack/packer.js";
import type { Header } from "../../fast/pack/records.js";
import { Traits } from "./traits.js";

const SMALL_RECORDS = 200;
/** The number of small segments in a row that become one. */
const JOIN_SEGMENTS = 32;
/** Segments that one transaction of a sweep removes. */
const SWEEP_SEGMENTS = 20;

export interface SegmentRow {
  n: number;
  records: number;
  pack: Buffer;
}

export interface SegmentWriter {
  /** Inside an open transaction. */
  add(pack: Pack): void;
  /** Deletes records that are older than `before` or above `maxRows`, oldest first, some at a time. Inside an open transaction. */
  sweep(before: number, maxRows: number): { removed: number; more: boolean };
  /** After a rollback. */
  forget(): void;
}

export function createSegmentWriter(database: Database): SegmentWriter {
  const insert = database.prepare<[number, number, number, Uint8Array, Buffer]>(
    "INSERT INTO segments (records, first_at, last_at, traits, pack) VALUES (?, ?, ?, ?, ?)",
  );
  const replace = database.prepare<[number, number, number, Uint8Array, Buffer, number]>(
    "UPDATE segments SET records = ?, first_at = ?, last_at = ?, traits = ?, pack = ? WHERE n = ?",
  );
  const newest = database.prepare<[number], { n: number; records: number }>(
    "SELECT n, records FROM segments ORDER BY n DESC LIMIT ?",
  );
  const packs = database.prepare<[number], SegmentRow>("SELECT n, records, pack FROM segments WHERE n = ?");
  const oldest = database.prepare<[number], { n: number; records: number; first_at: number; last_at: number }>(
    "SELECT n, records, first_at, last_at FROM segments ORDER BY n LIMIT ?",
  );
  const total = database.prepare<[], { records: number | null }>("SELECT sum(records) AS records FROM segments");
  const remove = database.prepare<[number]>("DELETE FROM segments WHERE n = ?");
  /** Small segments at the end, in order. */
  let small: { n: number; records: number }[] | undefined;

  const trailing = (): { n: number; records: number }[] => {
    const found = newest.all(JOIN_SEGMENTS);
    const large = found.findIndex(({ records }) => records >= SMALL_RECORDS);
    return (large < 0 ? found : found.slice(0, large)).reverse();
  };

  const join = (rows: readonly { n: number }[]): { n: number; records: number } => {
    const packer = new Packer();
    for (const { n } of rows) {
      const row = packs.get(n);
      if (row) addFitting(packer, new Pack(row.pack), () => true);
    }
    const joined = new Pack(packer.take());
    const last = rows.at(-1)?.n ?? 0;
    for (const { n } of rows) if (n !== last) remove.run(n);
    replace.run(...columnsOf(joined), last);
    return { n: last, records: joined.length };
  };

  return {
    add(added) {
      small ??= trailing();
      const { lastInsertRowid } = insert.run(...columnsOf(added));
      if (added.length >= SMALL_RECORDS) {
        small = [];
        return;
      }
      small.push({ n: Number(lastInsertRowid), records: added.length });
      if (small.length < JOIN_SEGMENTS) return;
      const one = join(small);
      small = one.records < SMALL_RECORDS ? [one] : [];
    },
    sweep(before, maxRows) {
      small = undefined;
      let excess = (total.get()?.records ?? 0) - maxRows;
      let removed = 0;
      const rows = oldest.all(SWEEP_SEGMENTS);
      for (const { n, records, first_at, last_at } of rows) {
        if (first_at >= before && excess <= 0) return { removed, more: false };
        if (last_at < before || excess >= records) {
          remove.run(n);
          removed += records;
          excess -= records;
          continue;
        }
        // Some records of the segment stay.
        const row = packs.get(n);
        const packer = new Packer();
        if (row) addFitting(packer, new Pack(row.pack), ({ at }, index) => index >= excess && at >= before);
        const kept = packer.length;
        if (kept > 0) replace.run(...columnsOf(new Pack(packer.take())), n);
        else remove.run(n);
        return { removed: removed + records - kept, more: false };
      }
      return { removed, more: rows.length === SWEEP_SEGMENTS };
    },
    forget() {
      small = undefined;
    },
  };
}

function addFitting(packer: Packer, from: Pack, isWanted: (header: Header, index: number) => boolean): void {
  for (let i = 0; i < from.length; i++) if (isWanted(from.header(i), i)) packer.addAgain(from.dispatch(i));
}

function columnsOf(pack: Pack): [number, number, number, Uint8Array, Buffer] {
  const traits = new Traits();
  let first = Number.POSITIVE_INFINITY;
  let last = 0;
  for (let i = 0; i < pack.length; i++) {
    const header = pack.header(i);
    first = Math.min(first, header.at);
    last = Math.max(last, header.at);
    traits.add(header);
  }
  return [pack.length, first, last, traits.bloom(), pack.bytes];
}
