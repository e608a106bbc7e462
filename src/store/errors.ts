/** Turns errors of SQLite and the file system into the one error type: which file, and the operator's next step. */
import { HookgateError } from "../lib/errors.js";

interface Remedy {
  code: string;
  message: (file: string) => string;
  hint: string;
  retryable: boolean;
}

const LOCKED: Remedy = {
  code: "STORE_LOCKED",
  message: (file) => `the database ${file} is locked by another program`,
  hint: "Close the program that has it open (a backup, a database browser, a second gateway). A running gateway tries again by itself; one that could not start is to be started again.",
  retryable: true,
};
const READ_ONLY: Remedy = {
  code: "STORE_READ_ONLY",
  message: (file) => `the database ${file} cannot be written`,
  hint: "Give the gateway's user write permission on the file and on its folder, and check that the disk is not mounted read-only.",
  retryable: false,
};
const FULL: Remedy = {
  code: "STORE_FULL",
  message: (file) => `there is no room left for the database ${file}`,
  hint: "Free space on that disk. A running gateway goes on as soon as there is room, and needs less with lower limits under store.retention; one that could not start is to be started again.",
  retryable: true,
};
const CORRUPT: Remedy = {
  code: "STORE_CORRUPT",
  message: (file) => `the database ${file} is damaged or is no SQLite database`,
  hint: "If files in its folder were exchanged, exchange them back. Otherwise stop the gateway and restore a backup with `npx hookgate restore FILE` (the damaged file is kept), or rescue it with `sqlite3 FILE .recover` (see docs/backup.md).",
  retryable: false,
};
const OTHER_SCHEMA: Remedy = {
  code: "STORE_CORRUPT",
  message: (file) => `the database ${file} does not have the tables and columns that this version needs`,
  hint: "The file is damaged, or another program changed it. Stop the gateway and restore a backup with `npx hookgate restore FILE`.",
  retryable: false,
};
const CANNOT_OPEN: Remedy = {
  code: "STORE_FAILED",
  message: (file) => `the database ${file} cannot be opened`,
  hint: "Check that the path names a file and not a directory, and that the gateway's user may read and write the file and its folder.",
  retryable: false,
};
const DISK_FAILED: Remedy = {
  code: "STORE_FAILED",
  message: (file) => `the disk of the database ${file} fails to read or write`,
  hint: "Check the disk, and the connection to it when it is a network disk. A running gateway tries again by itself; one that could not start is to be started again.",
  retryable: true,
};
const CUT_SHORT: Remedy = {
  code: "STORE_FAILED",
  message: (file) => `the database ${file} or its log ${file}-wal was deleted, replaced or cut short`,
  hint: "Restart the gateway: the start checks the database and reports what is lost.",
  retryable: true,
};
const FAILED: Remedy = {
  code: "STORE_FAILED",
  message: (file) => `the database ${file} failed`,
  hint: "See the cause; check that the path is right and that its folder can be used.",
  retryable: false,
};

/** SQLite's codes are `SQLITE_BUSY`, `SQLITE_BUSY_SNAPSHOT`, …: https://www.sqlite.org/rescode.html; Node's are errno names. */
const REMEDIES: readonly [RegExp, Remedy][] = [
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, LOCKED],
  [/^(SQLITE_(READONLY|PERM|AUTH)|EACCES|EPERM|EROFS)/, READ_ONLY],
  [/^SQLITE_CANTOPEN/, CANNOT_OPEN],
  // For the last code: the index of the log could not grow.
  [/^(SQLITE_FULL|ENOSPC|EDQUOT|SQLITE_IOERR_SHMSIZE)/, FULL],
  [/^SQLITE_IOERR_SHORT_READ/, CUT_SHORT],
  [/^(SQLITE_IOERR|EIO$)/, DISK_FAILED],
  [/^SQLITE_(CORRUPT|NOTADB|FORMAT)/, CORRUPT],
];

/** Messages of SQLite, under its general code, about a statement that does not fit the tables. */
const SCHEMA_ERROR = /^(no such (table|column|index)|table .* has no column)/;

/** The error for the person who must act. An error that is already ours passes unchanged. */
export function storeError(thrown: unknown, file: string): HookgateError {
  if (thrown instanceof HookgateError) return thrown;
  const code = errorCode(thrown);
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  const remedy =
    REMEDIES.find(([pattern]) => pattern.test(code))?.[1] ?? (SCHEMA_ERROR.test(why) ? OTHER_SCHEMA : FAILED);
  return new HookgateError({
    code: remedy.code,
    message: `${remedy.message(file)}: ${why}${code ? ` (${code})` : ""}`,
    hint: remedy.hint,
    retryable: remedy.retryable,
    cause: thrown,
  });
}

/** The error for the history, which needs no backup: a gateway starts without it. */
export function historyError(thrown: unknown, file: string): HookgateError {
  const error = storeError(thrown, file);
  if (error.code !== "STORE_CORRUPT") return error;
  return new HookgateError({
    code: error.code,
    message: error.message.replace(/^the database /, "the history "),
    hint: `Stop the gateway, delete ${file} and ${file}-wal, and start it again: it creates an empty history. No message is lost.`,
    cause: error.cause,
  });
}

/** True when another connection holds the lock, so that waiting may help. */
export function isBusy(thrown: unknown): boolean {
  return LOCKED.code === REMEDIES.find(([pattern]) => pattern.test(errorCode(thrown)))?.[1].code;
}

/** SQLite's or Node's name of the error; empty when it has none. */
export function errorCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
}
