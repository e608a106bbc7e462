/** Platform pauses (`retry_after`) that must outlive the process. */
import type { Pause, PauseStore } from "../domain/store.js";
import type { Connection } from "./connection.js";

export function createPauses({ database, read, write }: Connection): PauseStore {
  const list = database.prepare<[], Pause>("SELECT key, until, asked_ms AS askedMs, reason FROM pauses ORDER BY key");
  const set = database.prepare<[string, number, number, string]>(
    `INSERT INTO pauses (key, until, asked_ms, reason) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET until = excluded.until, asked_ms = excluded.asked_ms, reason = excluded.reason`,
  );
  const remove = database.prepare<[string]>("DELETE FROM pauses WHERE key = ?");
  return {
    list: () => read(() => list.all()),
    set: ({ key, until, askedMs, reason }) => write(() => void set.run(key, until, askedMs, reason)),
    remove: (key) => write(() => void remove.run(key)),
  };
}
