/** Work to be done once after a commit: rows are added in the transaction of a change, and deleted when the work is done. */
import type { NewPending, PendingItem, PendingStore } from "../domain/pending.js";
import type { Connection } from "./connection.js";
import { readable } from "./database-file/unreadable.js";

/** Within a transaction. */
export type AddPending = (items: readonly NewPending[]) => void;

interface Row {
  id: string;
  kind: string;
  key: string;
  due_at: number;
  attempts: number;
  payload: string;
}

export function createAddPending({ database }: Connection): AddPending {
  // The first start follows at once, and needs no write of its own.
  const insert = database.prepare<[string, string, string, number, string]>(
    "INSERT INTO pending (id, kind, key, due_at, attempts, payload) VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING",
  );
  return (items) => {
    for (const { id, kind, key, dueAt, payload } of items) insert.run(id, kind, key, dueAt, JSON.stringify(payload));
  };
}

export function createPending({ database, read, write }: Connection, addPending: AddPending): PendingStore {
  const list = database.prepare<[string], Row>(
    "SELECT id, kind, key, due_at, attempts, payload FROM pending WHERE kind IN (SELECT value FROM json_each(?)) ORDER BY seq",
  );
  const start = database.prepare<[string], { attempts: number }>(
    "UPDATE pending SET attempts = attempts + 1 WHERE id = ? RETURNING attempts",
  );
  const remove = database.prepare<[string]>("DELETE FROM pending WHERE id = ?");
  return {
    list: (kinds) => read(() => readable(list.all(JSON.stringify(kinds)), itemOf)),
    started: (id) => write(() => start.get(id)?.attempts ?? 1),
    done: (ids) =>
      write(() => {
        for (const id of ids) remove.run(id);
      }),
    replace: (id, pieces) =>
      write(() => {
        remove.run(id);
        addPending(pieces);
      }),
  };
}

function itemOf({ due_at, attempts, payload, ...row }: Row): PendingItem {
  return { ...row, dueAt: due_at, attempt: attempts, payload: JSON.parse(payload) };
}
