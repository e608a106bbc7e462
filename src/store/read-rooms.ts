/** The web chat's rooms, for a look from outside: `hookgate check` asks while a gateway may run. Writes nothing. */
import { existsSync } from "node:fs";
import { openSqlite } from "./driver.js";

/** Ids of rooms; undefined when the database cannot be read. No database is no rooms. */
export function readRooms(file: string): string[] | undefined {
  if (!existsSync(file)) return [];
  try {
    const database = openSqlite(file, { readonly: true, fileMustExist: true });
    try {
      const rows = database.prepare<[], { id: string }>("SELECT id FROM web_rooms").all();
      return rows.map(({ id }) => id);
    } finally {
      database.close();
    }
  } catch {
    return undefined; // of another version, or locked: then nothing is known of its rooms
  }
}
