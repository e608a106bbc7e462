/** The reads that `hookgate check` needs of the database, while a gateway may run. Writes nothing. */
import { existsSync } from "node:fs";
import type { TriggerState } from "../domain/automation.js";
import { stateOf, type TriggerRow } from "./automation/triggers.js";
import { openSqlite } from "./driver.js";

/** Ids of rooms of the web chat; undefined when the database cannot be read. No database is no rooms. */
export function readRooms(file: string): string[] | undefined {
  return readAll<{ id: string }>(file, "SELECT id FROM web_rooms")?.map(({ id }) => id);
}

/** When timed hooks fired last and fire next, by hook; none when the database cannot be read. */
export function readTriggers(file: string): Map<string, TriggerState> {
  const rows = readAll<TriggerRow>(file, "SELECT * FROM automation_triggers") ?? [];
  return new Map(rows.map((row) => [row.hook_id, stateOf(row)]));
}

/** Cursors of a scope whose key starts with `prefix`; none when the database cannot be read. */
export function readCursors(file: string, scope: string, prefix: string): { key: string; value: string }[] {
  const rows = readAll<{ scope: string; key: string; value: string }>(file, "SELECT scope, key, value FROM cursors");
  return (rows ?? []).filter((row) => row.scope === scope && row.key.startsWith(prefix));
}

function readAll<Row>(file: string, query: string): Row[] | undefined {
  if (!existsSync(file)) return [];
  try {
    const database = openSqlite(file, { readonly: true, fileMustExist: true });
    try {
      return database.prepare<[], Row>(query).all();
    } finally {
      database.close();
    }
  } catch {
    return undefined; // another version, or locked: then nothing is known
  }
}
