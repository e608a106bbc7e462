/** Puts a backup in the place of the database. The earlier database and its history stay beside it under other names. */
import { existsSync, realpathSync, rmSync, statSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { READ_POSITIONS } from "../../domain/chat/adapter.js";
import { MAY_HAVE_BEEN_HANDLED, MAY_HAVE_BEEN_SENT } from "../../domain/deliveries/letters.js";
import { DELIVERY_ENDS, INGESTED_EVENT, LATE_NOTE } from "../../domain/pending.js";
import { HookgateError } from "../../lib/errors.js";
import type { Clock } from "../../lib/time/clock.js";
import { IS_UNFINISHED_RUN } from "../automation/run-rows.js";
import { storeError } from "../errors.js";
import { IS_OPEN } from "../messages/delivery-rows.js";
import {
  backupTime,
  copyDatabase,
  countUnfinished,
  putInPlace,
  requireAllTables,
  requireComplete,
  type Unfinished,
  withDatabase,
} from "./backup.js";
import { takeExclusiveLock } from "./exclusive-lock.js";
import {
  type DatabaseFiles,
  requireFolder,
  requireRegularFiles,
  restoredFile,
  restoringFile,
  specialKind,
} from "./files.js";
import { markAnew } from "./identity.js";
import { moveAside } from "./move-aside.js";
import { forgetOwners, isLeftOpen, readOwner, refuseRunningOwner } from "./owner.js";

export interface Restored extends Unfinished {
  /** When the backup was made, as ISO 8601; undefined for a plain copy of a database. */
  madeAt: string | undefined;
  /** The path of the earlier database now; undefined when there was none. */
  replaced: string | undefined;
  /** The file is no backup but the file of a running or killed gateway, copied without its log. */
  isBareCopy: boolean;
}

const RESTORED = "it was unfinished in the backup that was restored";
const MAY_BE_HANDLED = `${MAY_HAVE_BEEN_HANDLED}: ${RESTORED}`;
const MAY_BE_SENT = `${MAY_HAVE_BEEN_SENT} since: ${RESTORED}`;
/** The former reason of a held or dead letter follows this text. */
const WAITED = "it waited for an operator in the backup that was restored";

/**
 * `hold`: unfinished messages and deliveries wait for an operator, as they may have been handled or sent since, and so do those that waited
 * for one in the backup; unfinished runs of hooks are ended. Throws STORE_IN_USE while a gateway runs, BACKUP_MISSING, BACKUP_UNKNOWN,
 * BACKUP_INCOMPLETE, BACKUP_IS_DATABASE, or a STORE_… error; then the database is as it was.
 */
export async function restoreDatabase(
  files: DatabaseFiles,
  backup: string,
  { hold, clock }: { hold: boolean; clock: Clock },
): Promise<Restored> {
  const at = clock.now();
  if (!existsSync(backup))
    throw new HookgateError({
      code: "BACKUP_MISSING",
      message: `there is no file ${backup}`,
      hint: "Give the path of a file that `npx hookgate backup` created.",
    });
  // Opening a pipe waits for its writer, without an end.
  const kind = statSync(backup).isDirectory() ? "a folder" : specialKind(backup);
  if (kind !== undefined)
    throw new HookgateError({
      code: "BACKUP_UNKNOWN",
      message: `${backup} is ${kind}, not a backup`,
      hint: "Give the path of a file that `npx hookgate backup` created.",
    });
  if (existsSync(files.database) && realpathSync(backup) === realpathSync(files.database))
    throw new HookgateError({
      code: "BACKUP_IS_DATABASE",
      message: `${backup} is the database itself`,
      hint: "Give the path of a file that `npx hookgate backup` created.",
    });
  requireFolder(files);
  requireRegularFiles(files);
  const lock = takeExclusiveLock(files, () => readOwner(files.database));
  const partial = restoringFile(files.database);
  try {
    await refuseRunningOwner(files.database, clock);
    finishRestore(files);
    await read(backup, () => copyDatabase(backup, partial));
    const restored = await withDatabase(partial, async (copy) => {
      await read(backup, async () => {
        requireComplete(copy, backup);
        requireAllTables(copy, backup);
      });
      const isBareCopy = isLeftOpen(copy);
      forgetOwners(copy);
      markAnew(copy);
      const unfinished = countUnfinished(copy);
      if (hold) holdUnfinished(copy, at);
      return { ...unfinished, madeAt: backupTime(copy), isBareCopy };
    });
    // From here on a kill changes nothing any more: the next start or restore does the rest.
    putInPlace(partial, restoredFile(files.database));
    return { ...restored, replaced: finishRestore(files)?.replaced };
  } catch (thrown) {
    rmSync(partial, { force: true });
    throw storeError(thrown, files.database);
  } finally {
    lock.release();
  }
}

/**
 * Puts a copied backup in the place of the database; undefined when there is none. The lock is held. Called again after a kill, it does the
 * rest.
 */
export function finishRestore(files: DatabaseFiles): { replaced: string | undefined } | undefined {
  const ready = restoredFile(files.database);
  const madeAt = statSync(ready, { throwIfNoEntry: false })?.mtimeMs;
  if (madeAt === undefined) return undefined;
  // Ids of messages start where the backup ends: the history of later ones would be taken for theirs.
  moveAside(files.journal, "replaced", madeAt);
  const replaced = moveAside(files.database, "replaced", madeAt);
  putInPlace(ready, files.database);
  return { replaced };
}

/** Errors name the backup, and not the database, except of a disk that cannot be written: a backup is only read. */
async function read(backup: string, job: () => void | Promise<void>): Promise<void> {
  try {
    await job();
  } catch (thrown) {
    const { code, message, retryable } = storeError(thrown, backup);
    if (code === "STORE_READ_ONLY" || code === "STORE_FULL") throw thrown;
    throw new HookgateError({
      code,
      message,
      hint: "The database was not changed. Choose another backup.",
      retryable,
      cause: thrown,
    });
  }
}

/** Nothing that waits in the backup goes on by itself, and no platform is read again from the position of that time. */
function holdUnfinished(database: Database, at: number): void {
  // Messages and deliveries that waited for an operator already. A backup of a restored database may have this text in some of them.
  database
    .prepare<[string, string]>(
      "UPDATE inbox SET error = concat_ws('; ', ?, error) WHERE status = 'dead' AND instr(ifnull(error, ''), ?) <> 1",
    )
    .run(`${MAY_HAVE_BEEN_HANDLED}: ${WAITED}`, MAY_HAVE_BEEN_HANDLED);
  database
    .prepare<[string, string]>(
      `UPDATE deliveries SET status = 'held', reason = iif(instr(ifnull(reason, ''), ?) = 1, reason, concat_ws('; ', ?, reason))
       WHERE status IN ('held', 'dead')`,
    )
    .run(MAY_HAVE_BEEN_SENT, `${MAY_HAVE_BEEN_SENT} since: ${WAITED}`);
  database
    .prepare<[string, number]>("UPDATE inbox SET status = 'dead', error = ?, settled_at = ? WHERE settled_at IS NULL")
    .run(MAY_BE_HANDLED, at);
  database
    .prepare<[string, number]>(`UPDATE deliveries SET status = 'held', reason = ?, settled_at = ? WHERE ${IS_OPEN}`)
    .run(MAY_BE_SENT, at);
  // Hooks that still had to be notified: they may send something because of it. Notes that waited for hooks may have been sent since.
  database
    .prepare<[string]>("DELETE FROM pending WHERE kind IN (SELECT value FROM json_each(?))")
    .run(JSON.stringify([DELIVERY_ENDS, INGESTED_EVENT, LATE_NOTE]));
  database
    .prepare<[string, number]>(
      `UPDATE automation_runs SET status = 'interrupted', data = iif(json_valid(data), json_set(data, '$.statusReason', ?), data),
         ended_at = ?, lease_owner = NULL, lease_until = NULL, pending = NULL
       WHERE ${IS_UNFINISHED_RUN}`,
    )
    .run(MAY_BE_HANDLED, at);
  const forget = database.prepare<[string, string]>("DELETE FROM cursors WHERE substr(key, 1, length(?)) = ?");
  for (const prefix of READ_POSITIONS) forget.run(prefix, prefix);
}
