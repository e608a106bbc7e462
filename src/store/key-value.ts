/**
 * Small facts by scope: those of plugins, and those of the product (`core:…`). A key that starts with the prefix is found by range, so
 * `%` and `_` mean themselves.
 */
import type { KeyValueStore } from "../domain/store.js";
import type { Connection } from "./connection.js";

/** No UTF-8 text holds this byte, and texts are compared byte by byte: it sorts after every text with a given prefix. */
const LAST_BYTE = "CAST(x'FF' AS TEXT)";

export function createKeyValue({ database, read, write }: Connection): KeyValueStore {
  const get = database.prepare<[string, string], { value: string }>(
    "SELECT value FROM key_values WHERE scope = ? AND key = ?",
  );
  const set = database.prepare<[string, string, string]>(
    "INSERT INTO key_values (scope, key, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const remove = database.prepare<[string, string]>("DELETE FROM key_values WHERE scope = ? AND key = ?");
  const list = database.prepare<[string, string, string], { key: string; value: string }>(
    `SELECT key, value FROM key_values WHERE scope = ? AND key >= ? AND key < ? || ${LAST_BYTE} ORDER BY key`,
  );
  return {
    get: (scope, key) =>
      read(() => {
        const row = get.get(scope, key);
        return row && JSON.parse(row.value);
      }),
    async set(scope, key, value) {
      const json: string | undefined = JSON.stringify(value);
      await write(() => void (json === undefined ? remove.run(scope, key) : set.run(scope, key, json)));
    },
    setNow: (scope, key, value) => void set.run(scope, key, JSON.stringify(value)),
    delete: (scope, key) => write(() => void remove.run(scope, key)),
    list: (scope, prefix) =>
      read(() => list.all(scope, prefix, prefix).map(({ key, value }) => ({ key, value: JSON.parse(value) }))),
  };
}
