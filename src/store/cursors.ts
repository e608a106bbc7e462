/** Cursors: small facts of adapters and parts of the product, read from memory, written to disk before they count. */
import type { CursorStore } from "../domain/chat/adapter.js";
import type { Connection } from "./connection.js";

/** Reads all cursors once; every scope has its own keys. */
export function createCursors({ database, write }: Connection): (scope: string) => CursorStore {
  const upsert = database.prepare<[string, string, string]>(
    "INSERT INTO cursors (scope, key, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const remove = database.prepare<[string, string]>("DELETE FROM cursors WHERE scope = ? AND key = ?");
  const scopes = new Map<string, Map<string, string>>();
  const valuesOf = (scope: string): Map<string, string> => {
    const values = scopes.get(scope) ?? new Map<string, string>();
    scopes.set(scope, values);
    return values;
  };
  const stored = database.prepare<[], { scope: string; key: string; value: string }>(
    "SELECT scope, key, value FROM cursors",
  );
  for (const { scope, key, value } of stored.all()) valuesOf(scope).set(key, value);

  return (scope) => {
    const values = valuesOf(scope);
    return {
      get: (key) => values.get(key),
      async set(key, value) {
        await write(() => void (value === undefined ? remove.run(scope, key) : upsert.run(scope, key, value)));
        if (value === undefined) values.delete(key);
        else values.set(key, value);
      },
      list: (prefix) =>
        [...values]
          .filter(([key]) => key.startsWith(prefix))
          .map(([key, value]) => ({ key, value }))
          .sort((a, b) => (a.key < b.key ? -1 : 1)),
    };
  };
}
