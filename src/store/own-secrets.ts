/** Secrets that this installation made for itself: once made, they never change. */
import { newToken } from "../lib/id.js";
import type { Connection } from "./connection.js";

const SECRET_BYTES = 32;

export function createOwnSecrets({ database, write }: Connection): (name: string) => Promise<string> {
  const get = database.prepare<[string], { value: string }>("SELECT value FROM own_secrets WHERE name = ?");
  const add = database.prepare<[string, string]>("INSERT INTO own_secrets (name, value) VALUES (?, ?)");
  return (name) => {
    const fresh = newToken(SECRET_BYTES);
    return write(() => {
      const known = get.get(name);
      if (known) return known.value;
      add.run(name, fresh);
      return fresh;
    });
  };
}
