/** Opens the gateway's own database: refuses one that is damaged or missing, and finds the losses of the last run. */
import { existsSync, rmSync, statSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { HookgateError } from "../../lib/errors.js";
import type { Clock } from "../../lib/time/clock.js";
import { type Durability, openDatabase } from "../connection.js";
import { closeLeavingLog, openSqlite } from "../driver.js";
import { createSchema, GATEWAY_SCHEMA, HISTORY_SCHEMA, hasSchema, type Schema } from "../schema.js";
import { type DatabaseFiles, restoredFile, restoringFile } from "./files.js";
import { markDatabase, refuseForeign, repeatMark } from "./identity.js";
import { requireSound } from "./inspect.js";
import { type LogState, readLog } from "./lost-log.js";
import { moveAside } from "./move-aside.js";
import { hadHistory, type LeftOpen, wasLeftOpen, writeOwner } from "./owner.js";
import { finishRestore } from "./restore.js";

/**
 * Checked before the start goes on: that takes a fifth of a second at most. A larger file is checked in a thread, right after the start.
 */
const CHECKED_AT_START_BYTES = 128_000_000;

export interface OwnDatabase {
  database: Database;
  /** The number that the database shares with its history. */
  mark: number;
  /** When all of the database was checked; undefined = not yet. */
  checkedAt: number | undefined;
  /** The losses of the last run, one sentence each. */
  losses: string[];
}

/**
 * The exclusive lock is held. Throws a STORE_… error; STORE_MISSING when the database is gone and its history is not, STORE_FOREIGN when
 * it is another one.
 */
export async function openOwnDatabase(
  files: DatabaseFiles,
  options: { durability: Durability; clock: Clock; newDatabase: boolean },
): Promise<OwnDatabase> {
  const { database: file } = files;
  const now = options.clock.now();
  const finished = finishRestore(files);
  for (const suffix of ["", "-journal"]) rmSync(`${restoringFile(file)}${suffix}`, { force: true });
  if (isLost(files)) {
    if (!options.newDatabase) refuseLost(files);
    for (const old of [file, files.journal]) moveAside(old, "replaced", now);
  }
  const log = readLog(file);
  const history = readLog(files.journal);
  const isHistoryGone = sizeOf(files.journal) === 0;
  // The reader of the history creates the log, empty at first.
  const isHistoryLogGone = !isHistoryGone && !existsSync(`${files.journal}-wal`);
  refuseForeign(files, log);
  const database = openDatabase(file, { durability: options.durability, readonly: false });
  try {
    const leftOpen = await wasLeftOpen(database, file, options.clock);
    const isSmall = sizeOf(file) <= CHECKED_AT_START_BYTES;
    if (isSmall) requireSound(database, file);
    createSchema(database, file, GATEWAY_SCHEMA);
    const mark = markDatabase(database);
    const isHistoryLost = isHistoryGone && (leftOpen !== undefined || hadHistory(database));
    writeOwner(database, file, now);
    // `writeOwner` may have started the log again: the log needs the number, by which it is known as the log of this database.
    repeatMark(database, mark);
    const losses = [];
    if (finished)
      losses.push(
        `a restore was interrupted, and this start finished it: ${file} is the backup${finished.replaced ? `, and the earlier database is ${finished.replaced}` : ""}`,
      );
    const lost = lossOf(log, leftOpen);
    if (lost !== undefined) losses.push(`${file}-wal ${lost}, so messages may be handled or sent again`);
    if (history.kind === "read" && lossOf(history, leftOpen) !== undefined)
      losses.push(`${files.journal}-wal was damaged: the last runs of hooks cannot be shown, no message is lost`);
    if (isHistoryLost)
      losses.push(
        `the history ${files.journal} was deleted or emptied: earlier runs of hooks cannot be shown, no message is lost`,
      );
    if (leftOpen && isHistoryLogGone)
      losses.push(
        `${files.journal}-wal was deleted after a crash: the last runs of hooks may be missing, no message is lost`,
      );
    return { database, mark, losses, checkedAt: isSmall ? now : undefined };
  } catch (thrown) {
    // The next start would take a log that is gone for one that was deleted.
    closeLeavingLog(database, file);
    throw thrown;
  }
}

/** The damage of a log, and the loss that it caused; undefined when the log is whole. */
function lossOf(log: LogState, leftOpen: LeftOpen | undefined): string | undefined {
  if (log.kind === "missing")
    return (
      leftOpen &&
      `was ${log.isEmpty ? "emptied" : "deleted"} after a crash: the last changes before the crash may be lost`
    );
  if (log.lostCommits > 0) return `was damaged: its last changes (${log.lostCommits} transactions) are lost`;
  if (!log.isHeaderSound) return "was damaged at its start: all changes in it are lost";
  // A power cut may lose only changes that were not reported yet.
  if (log.missingFrames > 0 && leftOpen?.isSameBoot) return "was cut short: its last changes are lost";
  return undefined;
}

/**
 * A history without its database: the database was deleted or emptied, or DATABASE_URL names another folder's. A restore that was
 * interrupted has the database.
 */
function isLost({ database, journal }: DatabaseFiles): boolean {
  return sizeOf(database) === 0 && sizeOf(journal) > 0 && !existsSync(restoredFile(database));
}

/** Throws STORE_MISSING. */
export function refuseLost(files: DatabaseFiles): void {
  if (!isLost(files)) return;
  const { database, journal } = files;
  throw new HookgateError({
    code: "STORE_MISSING",
    message: `the database ${database} is missing or empty, but its history ${journal} is there`,
    hint: "Restore a backup with `npx hookgate restore FILE`. To start with an empty database, run `npx hookgate start --new-database`: the history is moved aside.",
  });
}

/** Looks only. Throws STORE_FOREIGN, STORE_TOO_NEW or STORE_TOO_OLD when one of the files is not the one that a start expects there. */
export function refuseOtherSchema({ database, journal }: DatabaseFiles): void {
  refuseOther(database, GATEWAY_SCHEMA);
  if (sizeOf(journal) > 0) refuseOther(journal, HISTORY_SCHEMA);
}

function refuseOther(file: string, schema: Schema): void {
  let opened: Database | undefined;
  try {
    opened = openSqlite(file, { readonly: true, fileMustExist: true, timeout: 100 });
    hasSchema(opened, file, schema);
  } catch (thrown) {
    if (thrown instanceof HookgateError) throw thrown; // other code reports a file that cannot be read
  } finally {
    opened?.close();
  }
}

/** 0 when the path is missing or no file. */
function sizeOf(file: string): number {
  try {
    const stats = statSync(file);
    return stats.isFile() ? stats.size : 0;
  } catch {
    return 0; // opening it reports the problem
  }
}
