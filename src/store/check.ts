/** Asks the database whether it can be written. */
import type { Connection } from "./connection.js";

/** Writes and removes two pages or more, so that it meets what real writes would meet. */
export function createCheck({ database, write }: Connection): () => Promise<void> {
  const add = database.prepare("INSERT OR REPLACE INTO facts (name, value) VALUES ('check', zeroblob(16384))");
  const remove = database.prepare("DELETE FROM facts WHERE name = 'check'");
  return () =>
    write(() => {
      add.run();
      remove.run();
    });
}
