/**
 * The owner of a database file. A database and its history share a random number, in a field of the header that SQLite leaves to programs
 * (`user_version`). It is read beside SQLite, so that a file of another gateway or program is noticed before it is opened and changed. A
 * backup gets a number of its own: a copy of it in the place of the database is noticed, too.
 */
import { randomInt } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { HookgateError } from "../../lib/errors.js";
import { openSqlite } from "../driver.js";
import type { DatabaseFiles } from "./files.js";
import { type LogState, MARK_OFFSET, readLog } from "./lost-log.js";

const MAGIC = "SQLite format 3\0";
/** https://www.sqlite.org/fileformat.html#the_database_header */
const HEADER_BYTES = 100;
const MAX_MARK = 2 ** 31 - 1;

/** The number in the header of an open file, 0 when it has none yet; undefined when it is no database or empty. */
export function readMark(descriptor: number): number | undefined {
  const header = Buffer.alloc(HEADER_BYTES);
  const read = readSync(descriptor, header, 0, HEADER_BYTES, 0);
  return read === HEADER_BYTES && header.toString("latin1", 0, MAGIC.length) === MAGIC
    ? header.readUInt32BE(MARK_OFFSET)
    : undefined;
}

/**
 * Only for a file that this process has not open: closing it ends the locks that SQLite holds on it
 * (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
 */
function markOf(file: string): number | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "r");
    return readMark(descriptor);
  } catch {
    return undefined; // missing, a folder, or not to be read: opening it reports that
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Gives an unmarked database its number, `wanted` or a new one. Returns the number that it has. */
export function markDatabase(database: Database, wanted: number = newMark()): number {
  const mark = Number(database.pragma("user_version", { simple: true }));
  if (mark > 0) return mark;
  // Both are in the log: the header that a crash leaves in the file is known by it, whether it has the number yet or not.
  database.pragma("user_version = 0");
  database.pragma(`user_version = ${wanted}`);
  return wanted;
}

/** Writes the number again, into the log. */
export function repeatMark(database: Database, mark: number): void {
  database.pragma(`user_version = ${mark}`);
}

/** Gives a copy a number of its own. */
export function markAnew(database: Database): void {
  database.pragma(`user_version = ${newMark()}`);
}

function newMark(): number {
  return randomInt(1, MAX_MARK);
}

/** Before any of the files is opened. Throws STORE_FOREIGN; `log`: that of the database. */
export function refuseForeign({ database, journal }: DatabaseFiles, log: LogState = readLog(database)): void {
  const mark = markOf(database);
  if (mark === undefined) return;
  if (log.kind === "read" && log.marks.length > 0 && !log.marks.includes(mark))
    throw new HookgateError({
      code: "STORE_FOREIGN",
      message: `the database ${database} was replaced: the log ${database}-wal beside it belongs to another database`,
      hint: `Put the file back that belongs to the log. Or restore a backup with \`npx hookgate restore FILE\`: both files are kept under other names. Or, to use this database as it is, move ${database}-wal and ${database}-shm to another folder.`,
    });
  const current = log.kind === "read" ? (log.marks.at(-1) ?? mark) : mark;
  if (current === 0)
    refuseOtherProgram(
      database,
      "Put the right file back, restore a backup with `npx hookgate restore FILE`, or set DATABASE_URL to another path.",
    );
  const history = markOf(journal);
  if (history === 0)
    refuseOtherProgram(journal, "Move it to another folder: the gateway starts an empty history. No message is lost.");
  if (history !== undefined && history > 0 && history !== current)
    throw new HookgateError({
      code: "STORE_FOREIGN",
      message: `the database ${database} and its history ${journal} belong to different gateways: one of the files was replaced`,
      hint: `Put the right file back, or restore a backup with \`npx hookgate restore FILE\`. If this database is the right one, move ${journal} to another folder: the gateway starts an empty history.`,
    });
}

/** The tables of another program must not get ours beside them. */
function refuseOtherProgram(file: string, hint: string): void {
  let isOther: boolean;
  let database: Database | undefined;
  try {
    database = openSqlite(file, { readonly: true, fileMustExist: true, timeout: 100 });
    const tables = database
      .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      .all();
    isOther = tables.length > 0 && !tables.some(({ name }) => name === "hookgate_schema");
  } catch {
    return; // damaged or locked: opening it for good reports that
  } finally {
    database?.close();
  }
  if (isOther)
    throw new HookgateError({
      code: "STORE_FOREIGN",
      message: `${file} is a database, but not one of Hookgate: another program created it, or it was replaced`,
      hint,
    });
}
