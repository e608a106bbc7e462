/**
 * One gateway per database. The lock is SQLite's own exclusive lock on a small file beside the database: the operating
 * system holds it, so it ends with the process however that ends, and there is no stale lock to clean up.
 */
import { dirname } from "node:path";
import type Database from "better-sqlite3";
import { HookgateError } from "../../lib/errors.js";
import { makePrivateFile, makePrivateFolder } from "../../lib/files/private-files.js";
import { openSqlite } from "../driver.js";
import { isBusy, storeError } from "../errors.js";
import { type DatabaseFiles, requireFolder } from "./files.js";

export interface ExclusiveLock {
  release(): void;
}

/**
 * Throws STORE_IN_USE when another process, or this one, has the database open, and STORE_MISSING when a link to its folder leads nowhere.
 * `owner` names the process that has it open, for the message.
 */
export function takeExclusiveLock(files: DatabaseFiles, owner: () => string | undefined): ExclusiveLock {
  requireFolder(files);
  const { database: file, lock: lockFile } = files;
  let database: Database.Database | undefined;
  try {
    makePrivateFolder(dirname(lockFile));
    makePrivateFile(lockFile);
    database = openSqlite(lockFile, { timeout: 0 });
    database.pragma("journal_mode = MEMORY"); // nothing is ever written, so nothing need lie beside it
    database.exec("BEGIN EXCLUSIVE");
  } catch (thrown) {
    database?.close();
    if (!isBusy(thrown)) throw lockError(thrown, lockFile);
    const who = owner();
    throw new HookgateError({
      code: "STORE_IN_USE",
      message: `another gateway has the database ${file} open${who ? ` (${who})` : ""}`,
      hint: "Stop that one first, or give this one a database of its own with DATABASE_URL.",
      cause: thrown,
    });
  }
  const held = database;
  return { release: () => held.close() };
}

/** Throws STORE_CORRUPT when a start would. Only for a file that this process has not open. */
export function requireSoundLock({ lock }: Pick<DatabaseFiles, "lock">): void {
  let database: Database.Database | undefined;
  try {
    database = openSqlite(lock, { readonly: true, fileMustExist: true, timeout: 0 });
    database.pragma("schema_version");
  } catch (thrown) {
    const error = lockError(thrown, lock);
    if (error.code === "STORE_CORRUPT") throw error;
    // The lock file is missing, held by the gateway that runs, or not this user's: a start reports that.
  } finally {
    database?.close();
  }
}

/** Nothing is kept in the lock, so no backup is needed when it is damaged. */
function lockError(thrown: unknown, lockFile: string): HookgateError {
  const error = storeError(thrown, lockFile);
  if (error.code !== "STORE_CORRUPT") return error;
  return new HookgateError({
    code: error.code,
    message: `the lock file ${lockFile} is damaged: another program wrote into it`,
    hint: `Make sure that no other gateway uses this database, delete ${lockFile}, and start again: the gateway creates it. Nothing is kept in it, so nothing is lost and no backup is needed.`,
    cause: thrown,
  });
}
