/** Which hooks an operator switched off or on. */
import type { HookStateStore } from "../domain/store.js";
import type { Connection } from "./connection.js";

export function createHookState({ database, read, write }: Connection): HookStateStore {
  const list = database.prepare<[], { hookId: string; enabled: number; by: string; at: number }>(
    "SELECT hook_id AS hookId, enabled, by, at FROM hook_switches ORDER BY hook_id",
  );
  const upsert = database.prepare<[string, number, string, number]>(
    `INSERT INTO hook_switches (hook_id, enabled, by, at) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET enabled = excluded.enabled, by = excluded.by, at = excluded.at`,
  );
  const remove = database.prepare<[string, number]>("DELETE FROM hook_switches WHERE hook_id = ? AND at = ?");
  return {
    list: () => read(() => list.all().map((row) => ({ ...row, enabled: row.enabled === 1 }))),
    set: ({ hookId, enabled, by, at }) => write(() => void upsert.run(hookId, enabled ? 1 : 0, by, at)),
    remove: ({ hookId, at }) => write(() => void remove.run(hookId, at)),
  };
}
