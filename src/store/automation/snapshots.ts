/** The states of watched files when they were last seen, so that a start finds changes that were made meanwhile. */
import type { FileSnapshot, SnapshotStore } from "../../domain/automation.js";
import type { Connection } from "../connection.js";

export function createSnapshots({ database, read, write }: Connection): SnapshotStore {
  const isKnown = database.prepare<[string]>("SELECT 1 FROM automation_watches WHERE watch_id = ?");
  const watches = database.prepare<[], { id: string }>(
    "SELECT watch_id AS id FROM automation_watches ORDER BY watch_id",
  );
  const list = database.prepare<[string], FileSnapshot>(
    "SELECT path, size AS sizeBytes, mtime AS mtimeMs, ctime AS ctimeMs FROM automation_files WHERE watch_id = ? ORDER BY path",
  );
  const know = database.prepare<[string]>("INSERT OR IGNORE INTO automation_watches (watch_id) VALUES (?)");
  const set = database.prepare<[string, string, number, number, number]>(
    "INSERT OR REPLACE INTO automation_files (watch_id, path, size, mtime, ctime) VALUES (?, ?, ?, ?, ?)",
  );
  const remove = database.prepare<[string, string]>("DELETE FROM automation_files WHERE watch_id = ? AND path = ?");
  const forgetFiles = database.prepare<[string]>("DELETE FROM automation_files WHERE watch_id = ?");
  const forgetWatch = database.prepare<[string]>("DELETE FROM automation_watches WHERE watch_id = ?");
  return {
    get: (watchId) => read(() => (isKnown.get(watchId) ? list.all(watchId) : undefined)),
    watches: () => read(() => watches.all().map(({ id }) => id)),
    update: (watchId, changed, removed) =>
      write(() => {
        know.run(watchId);
        for (const { path, sizeBytes, mtimeMs, ctimeMs } of changed)
          set.run(watchId, path, sizeBytes, mtimeMs, ctimeMs);
        for (const path of removed) remove.run(watchId, path);
      }),
    forget: (watchId) =>
      write(() => {
        forgetFiles.run(watchId);
        forgetWatch.run(watchId);
      }),
  };
}
