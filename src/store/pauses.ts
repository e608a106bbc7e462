/** Platform pauses (`retry_after`) that must outlive the process. */
import type { PauseStore } from "../domain/store.js";
import type { Connection } from "./connection.js";

export function createPauses({ database, read, write }: Connection): PauseStore {
  const list = database.prepare<[], { key: string; until: number; reason: string }>(
    "SELECT key, until, reason FROM pauses ORDER BY key",
  );
  const set = database.prepare<[string, number, string]>(
    `INSERT INTO pauses (key, until, reason) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET until = excluded.until, reason = excluded.reason`,
  );
  return {
    list: () => read(() => list.all()),
    set: (key, until, reason) => write(() => void set.run(key, until, reason)),
  };
}
