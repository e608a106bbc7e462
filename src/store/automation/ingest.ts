/** Events that came in by signed HTTP: stored once per id before they are acknowledged, kept after it so that a replay is known. */
import type { IngestedEvent, IngestStore } from "../../domain/automation.js";
import type { Cause } from "../../domain/journal.js";
import type { Connection } from "../connection.js";

interface EventRow {
  id: string;
  name: string;
  payload: string;
  received_at: number;
  handled_at: number | null;
  cause: string | null;
}

const CHUNK = 500;

export function createIngest({ database, read, write }: Connection): IngestStore {
  const insert = database.prepare<[string, string, string, number, string | null]>(
    "INSERT INTO automation_events (id, name, payload, received_at, cause) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const stored = database.prepare<[string], Pick<EventRow, "payload">>(
    "SELECT payload FROM automation_events WHERE id = ?",
  );
  const unhandled = database.prepare<[number], EventRow>(
    "SELECT * FROM automation_events WHERE handled_at IS NULL ORDER BY received_at, id LIMIT ?",
  );
  const handled = database.prepare<[number, string]>("UPDATE automation_events SET handled_at = ? WHERE id = ?");
  const sweep = database.prepare<[number, number]>(
    `DELETE FROM automation_events WHERE id IN (
       SELECT id FROM automation_events WHERE handled_at IS NOT NULL AND received_at < ? LIMIT ?)`,
  );
  return {
    accept: ({ id, name, payload, receivedAt, cause }) =>
      write(() => {
        const by = cause === undefined ? null : JSON.stringify(cause);
        const text = JSON.stringify(payload ?? null);
        if (insert.run(id, name, text, receivedAt, by).changes === 1) return "new";
        return stored.get(id)?.payload === text ? "repeated" : "reused";
      }),
    unhandled: (limit) => read(() => unhandled.all(limit).map(eventOf)),
    handled: (id, at) => write(() => void handled.run(at, id)),
    async sweep(before) {
      let removed = 0;
      for (let some = CHUNK; some === CHUNK; removed += some)
        some = await write(() => sweep.run(before, CHUNK).changes);
      return removed;
    },
  };
}

function eventOf({ id, name, payload, received_at, handled_at, cause }: EventRow): IngestedEvent {
  const by = cause === null ? undefined : (parsed(cause) as Cause | undefined);
  return {
    id,
    name,
    payload: parsed(payload),
    receivedAt: received_at,
    cause: by,
    handledAt: handled_at ?? undefined,
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
