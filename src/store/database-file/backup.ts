/**
 * A copy of the database in one file, made beside a running gateway. SQLite writes it from one snapshot (`VACUUM INTO`), so the log is in
 * it, and free space is not.
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Database } from "better-sqlite3";
import { INGESTED_EVENT } from "../../domain/pending.js";
import { HookgateError } from "../../lib/errors.js";
import { makePrivateFile } from "../../lib/files/private-files.js";
import { IS_UNFINISHED_RUN } from "../automation/run-rows.js";
import { openDatabase } from "../connection.js";
import { openSqlite } from "../driver.js";
import { errorCode, storeError } from "../errors.js";
import { IS_OPEN } from "../messages/delivery-rows.js";
import { createSchema, GATEWAY_SCHEMA, hasSchema } from "../schema.js";
import { markAnew } from "./identity.js";
import { requireSound } from "./inspect.js";
import { forgetOwners } from "./owner.js";

const BACKUP_OF = "backup-of";

export interface Unfinished {
  /** Messages that were received and not handled yet. */
  messages: number;
  /** Deliveries that were not sent yet, or not confirmed. */
  deliveries: number;
  /** Runs of configured hooks that wait or are under way, and events for them. */
  runs: number;
  /** Messages that are dead, and deliveries that are held or dead. */
  forOperator: number;
}

export interface Backup extends Unfinished {
  sizeBytes: number;
}

/** Throws BACKUP_EXISTS, BACKUP_FOLDER_MISSING, BACKUP_NO_ROOM, or a STORE_… error; then there is no new file of that name. */
export async function backupDatabase(file: string, target: string, at: number): Promise<Backup> {
  // A link that leads nowhere is a file of that name, too.
  if (lstatSync(target, { throwIfNoEntry: false }))
    throw new HookgateError({
      code: "BACKUP_EXISTS",
      message: `${target} exists, and a backup never overwrites a file`,
      hint: "Choose another name, with the date for example.",
    });
  const folder = dirname(target);
  if (!existsSync(folder))
    throw new HookgateError({
      code: "BACKUP_FOLDER_MISSING",
      message: `there is no folder ${folder}`,
      hint: "Create the folder, or choose another one.",
    });
  const partial = `${target}.partial`;
  try {
    copyDatabase(file, partial);
    const unfinished = await withDatabase(partial, async (copy) => {
      requireComplete(copy, file);
      forgetOwners(copy);
      markAnew(copy);
      copy
        .prepare<[string, string]>("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)")
        .run(BACKUP_OF, new Date(at).toISOString());
      return countUnfinished(copy);
    });
    putInPlace(partial, target);
    return { ...unfinished, sizeBytes: statSync(target).size };
  } catch (thrown) {
    rmSync(partial, { force: true });
    const error = storeError(thrown, file);
    if (error.code !== "STORE_FULL") throw error;
    throw new HookgateError({
      code: "BACKUP_NO_ROOM",
      message: `there is no room left for the backup ${target}`,
      hint: "Free space on that disk, or choose a folder on another one. The backup needs as much room as the database.",
      cause: thrown,
    });
  }
}

/** Writes one snapshot of `source` into the new file `target`, which only this user can read. Throws SQLite's errors. */
export function copyDatabase(source: string, target: string): void {
  rmSync(target, { force: true });
  makePrivateFile(target);
  const database = openToCopy(source, target);
  if (database === undefined) return;
  try {
    database.prepare("VACUUM INTO ?").run(target);
  } finally {
    database.close();
  }
}

/**
 * Undefined when the source can be read but its folder cannot be written, such as on a read-only disk: SQLite needs to create the index
 * of the log there. Without a log the file is whole and does not change, so it is copied instead.
 */
function openToCopy(source: string, target: string): Database | undefined {
  try {
    return openDatabase(source, { durability: "normal", readonly: true });
  } catch (thrown) {
    const cause = thrown instanceof HookgateError ? thrown.cause : undefined;
    if (!/^SQLITE_(CANTOPEN|READONLY)/.test(errorCode(cause)) || !isCopied(source, target)) throw thrown;
    if (!existsSync(`${source}-wal`)) return undefined;
    throw new HookgateError({
      code: "STORE_READ_ONLY",
      message: `the database ${source} cannot be read with its log, because its folder cannot be written`,
      hint: `Copy ${source} and ${source}-wal into one folder that can be written, then name the copy: DATABASE_URL=file:COPY npx hookgate backup FILE.`,
      cause: thrown,
    });
  }
}

function isCopied(source: string, target: string): boolean {
  try {
    copyFileSync(source, target);
    return true;
  } catch {
    return false; // missing, a folder, or not to be read: opening it reports that
  }
}

/**
 * Throws STORE_CORRUPT when the copy is damaged, BACKUP_UNKNOWN when it is no database of Hookgate, STORE_TOO_NEW or STORE_TOO_OLD when
 * another version wrote it.
 */
export function requireComplete(copy: Database, file: string): void {
  requireSound(copy, file, "integrity_check");
  const tables = [...columnsOf(copy).keys()];
  if (tables.length === 0)
    throw new HookgateError({
      code: "BACKUP_UNKNOWN",
      message: `${file} is empty`,
      hint: "Choose a file that `npx hookgate backup` created.",
    });
  if (!tables.some((name) => name === "inbox" || name === "deliveries"))
    throw new HookgateError({
      code: "BACKUP_UNKNOWN",
      message: `${file} is a database, but not one of Hookgate`,
      hint: "Choose a file that `npx hookgate backup` created.",
    });
  hasSchema(copy, file, GATEWAY_SCHEMA);
}

/** Throws BACKUP_INCOMPLETE. */
export function requireAllTables(copy: Database, file: string): void {
  const fresh = openSqlite(":memory:");
  try {
    createSchema(fresh, file, GATEWAY_SCHEMA);
    const present = columnsOf(copy);
    for (const [table, columns] of columnsOf(fresh)) {
      const missing = present.has(table)
        ? columns
            .filter((column) => !present.get(table)?.includes(column))
            .map((column) => `the column ${table}.${column}`)
        : [`the table ${table}`];
      if (missing.length > 0) throw incomplete(file, missing[0] ?? "");
    }
  } finally {
    fresh.close();
  }
}

function incomplete(file: string, what: string): HookgateError {
  return new HookgateError({
    code: "BACKUP_INCOMPLETE",
    message: `the backup ${file} is incomplete: ${what} is missing`,
    hint: "Choose another file that `npx hookgate backup` created.",
  });
}

/** The columns of each table. */
function columnsOf(database: Database): Map<string, string[]> {
  const rows = database
    .prepare<[], { table: string; column: string }>(
      `SELECT tables.name AS "table", columns.name AS "column" FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
       WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite%'`,
    )
    .all();
  const columns = new Map<string, string[]>();
  for (const { table, column } of rows) columns.set(table, [...(columns.get(table) ?? []), column]);
  return columns;
}

/** For files that no one else has open. */
export async function withDatabase<T>(file: string, use: (database: Database) => T | Promise<T>): Promise<T> {
  const database = openDatabase(file, { durability: "full", readonly: false });
  try {
    // A single file, without a log beside it.
    database.pragma("journal_mode = DELETE");
    return await use(database);
  } finally {
    database.close();
  }
}

/** When the backup was made, as ISO 8601; undefined for a plain copy of a database. */
export function backupTime(database: Database): string | undefined {
  return database.prepare<[string], { value: string }>("SELECT value FROM facts WHERE name = ?").get(BACKUP_OF)?.value;
}

export function countUnfinished(database: Database): Unfinished {
  const count = (sql: string) => Number(database.prepare(sql).pluck().get());
  return {
    messages: count("SELECT count(*) FROM inbox WHERE settled_at IS NULL"),
    deliveries: count(`SELECT count(*) FROM deliveries WHERE ${IS_OPEN}`),
    runs:
      count(`SELECT count(*) FROM automation_runs WHERE ${IS_UNFINISHED_RUN}`) +
      count(`SELECT count(*) FROM pending WHERE kind = '${INGESTED_EVENT}'`),
    forOperator:
      count("SELECT count(*) FROM inbox WHERE status = 'dead'") +
      count("SELECT count(*) FROM deliveries WHERE status IN ('held', 'dead')"),
  };
}

/** Moves the file whole or not at all, also when the machine stops in between. */
export function putInPlace(partial: string, target: string): void {
  sync(partial);
  renameSync(partial, target);
  sync(dirname(target));
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
