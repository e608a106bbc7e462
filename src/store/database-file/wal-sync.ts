/**
 * Durability `full` without blocking the event loop. SQLite commits to the write-ahead log without waiting for the disk
 * (`synchronous = NORMAL`), and this waits for the disk beside it: a write counts as done when the log has been synced after
 * its commit. That is what `synchronous = FULL` does, except that SQLite would hold the thread meanwhile; a disk that takes
 * a millisecond would leave no time for anything else. A lone write on a quick disk is synced at once, which is sooner done.
 *
 * Opening the log beside SQLite is safe: its locks are on the database and its index, never on the log
 * (https://www.sqlite.org/walformat.html#wal_locks), and checkpoints sync the log by themselves before they reuse it.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";
import type { WalSync } from "../../fast/group-commit.js";
import type { Clock } from "../../lib/time/clock.js";

/** A sync that is slower than this is not done on this thread. */
const QUICK_MS = 0.3;

/** How the log is synced; another disk in tests. */
export interface Disk {
  syncNow(file: number): void;
  syncLater(file: number, done: (error: NodeJS.ErrnoException | null) => void): void;
}

const realDisk: Disk = { syncNow: fdatasyncSync, syncLater: fdatasync };

export function createWalSync(databaseFile: string, clock: Pick<Clock, "monotonic">, disk: Disk = realDisk): WalSync {
  const log = openSync(`${databaseFile}-wal`, "r+");
  let isQuick = true;
  const notePace = (startedMs: number): void => {
    isQuick = clock.monotonic() - startedMs < QUICK_MS;
  };
  return {
    sync(isHurried, done) {
      const startedMs = clock.monotonic();
      if (!isQuick || !isHurried) {
        disk.syncLater(log, (error) => {
          notePace(startedMs);
          done(error ?? undefined);
        });
        return;
      }
      try {
        disk.syncNow(log);
      } catch (thrown) {
        done(thrown);
        return;
      }
      notePace(startedMs);
      done();
    },
    close: () => closeSync(log),
  };
}
