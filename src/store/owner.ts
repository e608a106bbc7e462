/** Which process has the database open: named when a second gateway is refused, and noticed when it did not close the database. */
import { readFileSync, statSync } from "node:fs";
import type Database from "better-sqlite3";
import { HookgateError } from "../lib/errors.js";
import { openSqlite } from "./driver.js";
import { storeError } from "./errors.js";

const OWNER = "owner";
/** Present while the database is open, and after a crash. */
const OPENED_BY = "opened-by";

/** Writes both facts into the file itself, so that a lost log does not take them along. */
export function writeOwner(database: Database.Database, file: string, at: number): void {
  try {
    const write = database.prepare<[string, string]>("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)");
    write.run(OWNER, `process ${process.pid}, since ${new Date(at).toISOString()}`);
    write.run(OPENED_BY, ownerMark(process.pid, file) ?? "");
    database.pragma("wal_checkpoint(PASSIVE)");
  } catch (thrown) {
    throw storeError(thrown, file);
  }
}

/** For a stop in good order. */
export function forgetOwner(database: Database.Database): () => void {
  const remove = database.prepare<[string]>("DELETE FROM facts WHERE name = ?");
  return () => void remove.run(OPENED_BY);
}

/**
 * True when the last gateway did not close the database. Throws STORE_IN_USE when that gateway still runs: then its lock file was
 * deleted, and the lock does not protect the database. Only Linux tells for sure whether a process is the same as before.
 */
export function wasLeftOpen(database: Database.Database, file: string): boolean {
  const fact = factReader(database);
  const mark = fact(OPENED_BY);
  const pid = Number(mark?.split(" ")[0]);
  if (mark && pid !== process.pid && ownerMark(pid, file) === mark)
    throw new HookgateError({
      code: "STORE_IN_USE",
      message: `another gateway has the database ${file} open (${fact(OWNER)}), although its lock file was deleted`,
      hint: "Stop that one first, or give this one a database of its own with DATABASE_URL.",
    });
  return mark !== undefined;
}

/** The same refusal, for a file that may be missing or damaged. Throws STORE_IN_USE. */
export function refuseRunningOwner(file: string): void {
  let database: Database.Database | undefined;
  try {
    database = openSqlite(file, { readonly: true, fileMustExist: true, timeout: 100 });
    wasLeftOpen(database, file);
  } catch (thrown) {
    if (thrown instanceof HookgateError) throw thrown;
    // It cannot be read: that is why a backup is restored.
  } finally {
    database?.close();
  }
}

export function readOwner(file: string): string | undefined {
  let database: Database.Database | undefined;
  try {
    database = openSqlite(file, { readonly: true, fileMustExist: true, timeout: 100 });
    return factReader(database)(OWNER);
  } catch {
    return undefined; // Only a remark: the refusal stands without it.
  } finally {
    database?.close();
  }
}

function factReader(database: Database.Database): (name: string) => string | undefined {
  const hasFacts = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'facts'").get() !== undefined;
  if (!hasFacts) return () => undefined;
  const get = database.prepare<[string], { value: string }>("SELECT value FROM facts WHERE name = ?");
  return (name) => get.get(name)?.value;
}

/**
 * The process and no other one with its number later (number, start in ticks since the machine started, start of the machine), and the
 * file, so that a copy of the database belongs to no process.
 */
function ownerMark(pid: number, file: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may contain spaces. The start is field 22, the 20th after the name.
    const startTicks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const { dev, ino } = statSync(file);
    return `${pid} ${startTicks} ${boot} ${dev}:${ino}`;
  } catch {
    return undefined; // no such process, or not Linux
  }
}
