/** An SQLite file with the functions that the repositories need of it: grouped writes, reads of committed data, errors for people. */
import { dirname } from "node:path";
import type Database from "better-sqlite3";
import { GroupCommit, type GroupCommitOptions, type TransactionParts } from "../fast/group-commit.js";
import { makePrivateFile, makePrivateFolder, requireWritable } from "../lib/files/private-files.js";
import { openSqlite } from "./driver.js";
import { isBusy, storeError } from "./errors.js";

export interface Connection {
  readonly file: string;
  readonly database: Database.Database;
  /** Runs the job in the next shared transaction; resolves when it is durable. The job may be run twice. */
  write<T>(job: () => T): Promise<T>;
  /** Runs the job as `write` does, and resolves after its commit: a killed process loses nothing of it, a power cut may until `durable`. */
  commit<T>(job: () => T): Promise<T>;
  /** Resolves when all that is committed so far is durable. */
  durable(): Promise<void>;
  /**
   * For writes that are put together with others of their transaction: called when a transaction starts, for the first time or again,
   * before it ends, and when it is committed.
   */
  onTransaction(parts: TransactionParts): void;
  /** Runs the job at once. Jobs run between transactions, so they only see committed data. */
  read<T>(job: () => T): Promise<T>;
  close(): Promise<void>;
}

/**
 * `full`: an acknowledged write survives a power cut. `normal`: it survives a crash of the process, not of the machine. `none` is for
 * tests.
 */
export type Durability = "full" | "normal" | "none";

export interface OpenOptions {
  durability: Durability;
  readonly: boolean;
  /** Throws when the file is not there, and creates nothing. */
  mustExist?: boolean;
}

/** How long SQLite itself may block the event loop waiting for a lock; longer waits are done without blocking. */
const BUSY_TIMEOUT_MS = 20;

/** Opens (and creates) the file in WAL mode. Throws a STORE_… error. */
export function openDatabase(
  file: string,
  { durability, readonly, mustExist = readonly }: OpenOptions,
): Database.Database {
  let database: Database.Database | undefined;
  try {
    if (!readonly) {
      if (!mustExist) {
        makePrivateFolder(dirname(file));
        // SQLite gives its log and its index the mode of the file.
        makePrivateFile(file);
      }
      // SQLite would open the file for reading only, or fail without the reason.
      requireWritable(file);
      requireWritable(dirname(file));
    }
    database = openSqlite(file, { readonly, fileMustExist: mustExist, timeout: BUSY_TIMEOUT_MS });
    // Reads the header, so that a file which is no database is found now and not at the first write.
    database.pragma("schema_version");
    // Only for a new file. A commit writes whole pages, and rows of messages follow each other: half as many pages of twice the size.
    if (!readonly) database.pragma("page_size = 8192");
    if (!readonly) database.pragma("journal_mode = WAL");
    // `full` is NORMAL plus a sync of the log after every commit: see wal-sync.ts.
    database.pragma(`synchronous = ${durability === "none" ? "OFF" : "NORMAL"}`);
    database.pragma("foreign_keys = ON");
    database.pragma("temp_store = MEMORY");
    // A burst changes the same pages again and again: they are read once, and copied from the log into the file less often.
    // Not more: many a COMMIT walks the whole cache (pages that a split put in order had the largest number of all for a moment).
    database.pragma("cache_size = -8192");
    database.pragma("wal_autocheckpoint = 4000");
    // After a burst the WAL file is cut back to this, instead of keeping its largest size for ever.
    database.pragma("journal_size_limit = 67108864");
    return database;
  } catch (thrown) {
    database?.close();
    throw storeError(thrown, file);
  }
}

export function connect(
  file: string,
  database: Database.Database,
  options: Omit<GroupCommitOptions, "file" | "errorOf" | "isBusy">,
): Connection {
  const errorOf = (thrown: unknown) => storeError(thrown, file);
  const commits = new GroupCommit(database, { file, errorOf, isBusy, ...options });
  return {
    file,
    database,
    write: (job) => commits.write(job),
    commit: (job) => commits.write(job, "commit"),
    durable: () => commits.durable(),
    onTransaction: (parts) => commits.onTransaction(parts),
    async read(job) {
      try {
        return job();
      } catch (thrown) {
        const error = errorOf(thrown);
        options.onError?.(error);
        throw error;
      }
    },
    async close() {
      await commits.close();
      database.close();
    },
  };
}
