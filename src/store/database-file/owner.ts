/** Which process has the database open: named when a second gateway is refused, and noticed when it did not close the database. */
import { readFileSync, statSync } from "node:fs";
import type Database from "better-sqlite3";
import { HookgateError } from "../../lib/errors.js";
import { type Clock, wait } from "../../lib/time/clock.js";
import { openSqlite } from "../driver.js";
import { storeError } from "../errors.js";

const OWNER = "owner";
/** Present while the database is open, and after a crash. */
const OPENED_BY = "opened-by";
/** A killed process closes its files, and with them its lock, before the process itself is gone. */
const ENDS_WITHIN_MS = 2_000;
const ENDED_CHECK_MS = 50;

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

/** Whether the process that had this file open did not close it, as far as the file shows. */
export function isLeftOpen(database: Database.Database): boolean {
  return factReader(database)(OPENED_BY) !== undefined;
}

/** For a stop in good order. */
export function forgetOwner(database: Database.Database): () => void {
  const remove = database.prepare<[string]>("DELETE FROM facts WHERE name = ?");
  return () => void remove.run(OPENED_BY);
}

/** For a copy: no gateway had the copy open, and the copy has no history. */
export function forgetOwners(copy: Database.Database): void {
  copy.prepare("DELETE FROM facts WHERE name IN (?, ?)").run(OWNER, OPENED_BY);
}

/** A gateway handled messages in this file, so it had a history. */
export function hadHistory(database: Database.Database): boolean {
  const known = database.prepare("SELECT 1 FROM facts WHERE name = ? AND EXISTS (SELECT 1 FROM inbox)").get(OWNER);
  return known !== undefined;
}

export interface LeftOpen {
  /** The machine was not started again since; true where that is not known. */
  isSameBoot: boolean;
}

/**
 * Undefined when the last gateway closed the database. Throws STORE_IN_USE when that gateway still runs after a short wait: then its
 * lock file was deleted, and the lock does not protect the database. Only Linux shows whether a process is the same as before.
 */
export async function wasLeftOpen(
  database: Database.Database,
  file: string,
  clock: Clock,
): Promise<LeftOpen | undefined> {
  const fact = factReader(database);
  const mark = fact(OPENED_BY);
  const pid = Number(mark?.split(" ")[0]);
  const isRunning = () => Boolean(mark) && pid !== process.pid && ownerMark(pid, file) === mark;
  for (let waitedMs = 0; isRunning(); waitedMs += ENDED_CHECK_MS) {
    if (waitedMs >= ENDS_WITHIN_MS)
      throw new HookgateError({
        code: "STORE_IN_USE",
        message: `another gateway still runs and has the database ${file} open (${fact(OWNER)}), but the lock is free: its lock file was deleted, or that process cannot end`,
        hint: "Stop that process first, or give this gateway a database of its own with DATABASE_URL.",
      });
    await wait(clock, ENDED_CHECK_MS);
  }
  if (mark === undefined) return undefined;
  const boot = mark.split(" ")[2];
  return { isSameBoot: boot === undefined || boot === ownerMark(process.pid, file)?.split(" ")[2] };
}

/** Refuses as above, for a file that may be missing or damaged. Throws STORE_IN_USE. */
export async function refuseRunningOwner(file: string, clock: Clock): Promise<void> {
  let database: Database.Database | undefined;
  try {
    database = openSqlite(file, { readonly: true, fileMustExist: true, timeout: 100 });
    await wasLeftOpen(database, file, clock);
  } catch (thrown) {
    if (thrown instanceof HookgateError) throw thrown;
    // The file cannot be read: that is why a backup is restored.
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
    return undefined; // Only a remark: the refusal is valid without it.
  } finally {
    database?.close();
  }
}

/** The time when the last gateway opened it; undefined where that is not known. */
export function openedAt(file: string): number | undefined {
  const at = Date.parse(readOwner(file)?.split("since ")[1] ?? "");
  return Number.isNaN(at) ? undefined : at;
}

function factReader(database: Database.Database): (name: string) => string | undefined {
  const hasFacts = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'facts'").get() !== undefined;
  if (!hasFacts) return () => undefined;
  const get = database.prepare<[string], { value: string }>("SELECT value FROM facts WHERE name = ?");
  return (name) => get.get(name)?.value;
}

/**
 * Identifies the process, and no other one with its number later (number, start in ticks since the machine started, start of the machine),
 * and the file, so that a copy of the database belongs to no process.
 */
function ownerMark(pid: number, file: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may contain spaces. The start is field 22, the 20th after the name.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // The process has ended, and its parent process has not collected it yet: it may stay like that for as long as the parent runs.
    if (state === "Z" || state === "X") return undefined;
    const startTicks = fields[18];
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const { dev, ino } = statSync(file);
    return `${pid} ${startTicks} ${boot} ${dev}:${ino}`;
  } catch {
    return undefined; // no such process, or not Linux
  }
}
