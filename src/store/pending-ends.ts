/**
 * The deliveries whose end hooks have not been notified of yet. All that end in one transaction are noted in one row, and the row goes when
 * hooks have been notified of all in it: a row for each was written and deleted for every message. The rows are also kept in memory, so
 * that no query is needed for whether a delivery is in one.
 */
import type { Delivery, OutboxStore } from "../domain/store.js";
import { TransientMap } from "../lib/transient-map.js";
import type { Connection } from "./connection.js";
import { DELIVERY_COLUMNS, type DeliveryRecord, toDelivery } from "./delivery-rows.js";
import { readable } from "./unreadable.js";

export interface PendingEnds extends Pick<OutboxStore, "pendingEnds" | "told"> {
  /** Inside the open transaction. */
  addPending(deliveryId: string): void;
}

/** A row. */
interface Note {
  id: number;
  deliveryIds: readonly string[];
  /** How many of them hooks have not been notified of; one that ended twice counts once. */
  left: number;
}

export function createPendingEnds({ database, read, write, onTransaction }: Connection): PendingEnds {
  const all = database.prepare<[], { id: number; deliveries: string }>("SELECT id, deliveries FROM owed_ends");
  const add = database.prepare<[string]>("INSERT INTO owed_ends (deliveries) VALUES (?)");
  const change = database.prepare<[string, number]>("UPDATE owed_ends SET deliveries = ? WHERE id = ?");
  const remove = database.prepare<[number]>("DELETE FROM owed_ends WHERE id = ?");
  const list = database.prepare<[string], DeliveryRecord>(
    `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq`,
  );
  /** By delivery; absent once it is told. */
  const notes = new TransientMap<string, Note>();
  /** Those of the open transaction. */
  let ended: string[] = [];
  let noteId = 0;

  const remember = (id: number, deliveryIds: readonly string[]): void => {
    const note: Note = { id, deliveryIds, left: 0 };
    const before = notes.size;
    for (const deliveryId of deliveryIds) notes.set(deliveryId, note);
    note.left = notes.size - before;
  };
  for (const note of readable(all.all(), ({ id, deliveries }) => ({ id, ids: JSON.parse(deliveries) as string[] })))
    remember(note.id, note.ids);

  onTransaction({
    begin() {
      ended = [];
    },
    end() {
      if (ended.length > 0) noteId = Number(add.run(JSON.stringify(ended)).lastInsertRowid);
    },
    committed() {
      if (ended.length > 0) remember(noteId, ended);
    },
  });

  /** Rows that are done with, and rows that say less. */
  const told: OutboxStore["told"] = async (deliveryIds) => {
    const touched = new Set<Note>();
    for (const deliveryId of deliveryIds) {
      const note = notes.delete(deliveryId);
      if (!note) continue;
      note.left--;
      touched.add(note);
    }
    if (touched.size === 0) return;
    // Decided now: the id of a row that is gone may be given to another, so it is deleted once.
    const done: Note[] = [];
    const partly: Note[] = [];
    for (const note of touched) (note.left === 0 ? done : partly).push(note);
    await write(() => {
      for (const note of partly) if (note.left > 0) change.run(JSON.stringify(leftOf(note)), note.id);
      for (const note of done) remove.run(note.id);
    });
  };
  const leftOf = (note: Note): string[] => note.deliveryIds.filter((deliveryId) => notes.get(deliveryId) === note);

  return {
    addPending(deliveryId) {
      if (!notes.get(deliveryId)) ended.push(deliveryId);
    },
    async pendingEnds(): Promise<Delivery[]> {
      const deliveryIds = notes.entries().map(([deliveryId]) => deliveryId);
      if (deliveryIds.length === 0) return [];
      const records = await read(() => list.all(JSON.stringify(deliveryIds)));
      const found = new Set(records.map(({ id }) => id));
      // Purged or swept before anybody was told.
      await told(deliveryIds.filter((deliveryId) => !found.has(deliveryId)));
      return readable(records, toDelivery);
    },
    told,
  };
}
