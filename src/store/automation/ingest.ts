/** Events that came in by signed HTTP: stored once per id before they are acknowledged, kept after it so that a replay is known. */
import type { IngestedEvent, IngestStore } from "../../domain/automation.js";
import type { Cause } from "../../domain/journal.js";
import { INGESTED_EVENT } from "../../domain/pending.js";
import type { Connection } from "../connection.js";
import type { AddPending } from "../pending.js";

interface EventRow {
  id: string;
  name: string;
  payload: string;
  received_at: number;
  cause: string | null;
}

const CHUNK = 500;

export function createIngest({ database, read, write }: Connection, addPending: AddPending): IngestStore {
  const insert = database.prepare<[string, string, string, number, string | null]>(
    "INSERT INTO automation_events (id, name, payload, received_at, cause) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const stored = database.prepare<[string], Pick<EventRow, "payload">>(
    "SELECT payload FROM automation_events WHERE id = ?",
  );
  const find = database.prepare<[string], EventRow>("SELECT * FROM automation_events WHERE id = ?");
  const sweep = database.prepare<[number, number]>(
    `DELETE FROM automation_events WHERE id IN (
       SELECT id FROM automation_events WHERE received_at < ? AND id NOT IN (
         SELECT json_extract(payload, '$.event') FROM pending WHERE kind = '${INGESTED_EVENT}') LIMIT ?)`,
  );
  return {
    accept: ({ id, name, payload, receivedAt, cause }, pending, isFull = false) =>
      write(() => {
        const by = cause === undefined ? null : JSON.stringify(cause);
        const text = JSON.stringify(payload ?? null);
        if (!isFull && insert.run(id, name, text, receivedAt, by).changes === 1) {
          addPending(pending);
          return "new";
        }
        const known = stored.get(id);
        if (known === undefined) return "full";
        return known.payload === text ? "repeated" : "reused";
      }),
    get: (id) =>
      read(() => {
        const row = find.get(id);
        return row && eventOf(row);
      }),
    async sweep(before) {
      let removed = 0;
      for (let some = CHUNK; some === CHUNK; removed += some)
        some = await write(() => sweep.run(before, CHUNK).changes);
      return removed;
    },
  };
}

function eventOf({ id, name, payload, received_at, cause }: EventRow): IngestedEvent {
  const by = cause === null ? undefined : (parsed(cause) as Cause | undefined);
  return {
    id,
    name,
    payload: parsed(payload),
    receivedAt: received_at,
    cause: by,
  };
}

/** Undefined for a row that cannot be read: it must not hold up those behind it. */
function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload) as unknown;
  } catch {
    return undefined;
  }
}
