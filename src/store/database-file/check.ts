/** Asks the database whether it is sound, as far as is known, and whether it can be written. */
import type { Connection } from "../connection.js";
import type { Damage } from "./damage.js";

/** Writes and removes two pages or more, so that it meets the errors that real writes would meet. */
export function createCheck({ database, write }: Connection, damage: Damage): () => Promise<void> {
  const add = database.prepare("INSERT OR REPLACE INTO facts (name, value) VALUES ('check', zeroblob(16384))");
  const remove = database.prepare("DELETE FROM facts WHERE name = 'check'");
  return async () => {
    const { problem } = damage.health();
    if (problem) throw problem;
    await write(() => {
      add.run();
      remove.run();
    });
  };
}
