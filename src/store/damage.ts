/** What went wrong with the files of an open store: damage that a read or a write met, files that were deleted under the gateway. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { StoreHealth } from "../domain/store.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { DatabaseFiles } from "./files.js";
import { readMark } from "./identity.js";
import { isHeaderSound, LOG_HEADER_BYTES, readIndex } from "./lost-log.js";

export interface Damage {
  /** Remembers an error of a read or a write that looks like damage; others are ignored. A disk that fails for a moment looks like it, too. */
  note(error: HookgateError): void;
  /** A read or a write met what looks like damage, and no check of the whole file has decided about it. */
  isSuspected(): boolean;
  /** What a check of the whole file found; undefined when it is sound. */
  decide(error: HookgateError | undefined): void;
  /** A loss that was found at the start, or a part that works no more. Logged, and shown until a restart. */
  remark(message: string, facts?: object): void;
  /** The files are open: from now on it is noticed when one is deleted, replaced or overwritten. `mark`: the number of the database, unless another process may write it. */
  filesAreOpen(mark: number | undefined): void;
  health(): StoreHealth;
  /** After the database was closed. */
  close(): void;
}

interface Opened {
  database: string | undefined;
  journal: string | undefined;
  /** Absent where another process may write the files. */
  own?: OwnFiles;
}

/** Descriptors of the database and of its index. Closed before SQLite closes these files, they would take SQLite's locks along. */
interface OwnFiles {
  database: number;
  index: number;
  /** A start beside a busy reader cannot write its mark into the file at once. */
  marks: readonly (number | undefined)[];
  log: string | undefined;
}

export function watchForDamage(files: Pick<DatabaseFiles, "database" | "path" | "journal">, logger: Logger): Damage {
  let opened: Opened | undefined;
  let found: HookgateError | undefined;
  let suspicion: HookgateError | undefined;
  let isGoneLogged = false;
  const remarks: string[] = [];
  const log = `${files.database}-wal`;

  /** The database is not where it was. It may come back. */
  const gone = (): HookgateError | undefined => {
    if (!opened) return undefined;
    if (identityOf(files.database) === opened.database) return ledAway(opened);
    return new HookgateError({
      code: "STORE_GONE",
      message: `the database ${files.database} was deleted or replaced while the gateway runs: what it stores now is lost when it stops`,
      hint: RESTORE,
    });
  };
  /** The database is where it was, and a start would not find it there. */
  const ledAway = ({ database }: Opened): HookgateError | undefined => {
    if (files.path === files.database) return undefined;
    const found = identityOf(files.path);
    if (found === database) return undefined;
    return new HookgateError({
      code: "STORE_GONE",
      message: `a link on the way to the database was changed while the gateway runs: ${files.path} ${found === undefined ? "does not exist any more" : "is another file now"}, and the gateway still uses ${files.database}. A restart would not find what it stores now`,
      hint: `Make the link lead to ${files.database} again. Or stop the gateway and move its files to where the link leads, then start it.`,
    });
  };
  /** What was written over. Does not end before a restart: the gateway's own writes hide it sooner or later. */
  const overwritten = ({ own }: Opened): HookgateError | undefined => {
    if (!own) return undefined;
    if (!own.marks.includes(readMark(own.database)))
      return new HookgateError({
        code: "STORE_FOREIGN",
        message: `the database ${files.database} was overwritten with another file while the gateway runs: what the gateway stored is lost`,
        hint: RESTORE,
      });
    const how = changeOfLog(log, own);
    if (how === undefined) return undefined;
    return new HookgateError({
      code: "STORE_CORRUPT",
      message: `${log} was ${how} while the gateway runs: the newest changes are lost, and the database may be damaged`,
      hint: `Stop the gateway and start it again: the start checks the database. If it is damaged, restore a backup with \`npx hookgate restore FILE\`.`,
    });
  };
  const overwrittenIfReadable = (files: Opened): HookgateError | undefined => {
    try {
      return overwritten(files);
    } catch {
      return undefined; // the disk does not report them: reads and writes of the database report that
    }
  };
  const remember = (error: HookgateError): void => {
    if (found !== undefined) return;
    found = error;
    logger.error({ code: error.code, hint: error.hint }, error.message);
  };
  const problemNow = (): HookgateError | undefined => {
    if (found !== undefined) return found;
    if (suspicion !== undefined) return suspicion;
    const error = gone();
    if (error !== undefined && !isGoneLogged) logger.error({ code: error.code, hint: error.hint }, error.message);
    isGoneLogged = error !== undefined;
    const damage = error === undefined && opened ? overwrittenIfReadable(opened) : undefined;
    if (damage) remember(damage);
    return error ?? damage;
  };
  const lostHistory = (): string[] => {
    if (!opened) return [];
    const isThere = identityOf(files.journal) === opened.journal;
    if (isThere && sizeOf(files.journal) > 0) return [];
    const how = isThere ? "emptied" : "deleted or replaced";
    return [`the history ${files.journal} was ${how} while the gateway runs: a restart starts an empty one`];
  };

  return {
    note(error) {
      if (error.code !== "STORE_CORRUPT" || found !== undefined || suspicion !== undefined) return;
      const { code, message, cause } = error;
      suspicion = new HookgateError({ code, message, hint: SUSPECTED, cause });
      logger.error({ code, hint: SUSPECTED }, message);
    },
    isSuspected: () => suspicion !== undefined,
    decide(error) {
      if (error?.code === "STORE_CORRUPT") remember(error);
      else if (error === undefined && suspicion !== undefined)
        logger.warn({}, `the database ${files.database} is sound: what looked like damage was a failure of the disk`);
      // Else the disk fails, which decides nothing.
      else return;
      suspicion = undefined;
    },
    remark(message, facts = {}) {
      remarks.push(message);
      logger.warn(facts, message);
    },
    filesAreOpen(mark) {
      opened = { database: identityOf(files.database), journal: identityOf(files.journal) };
      if (mark === undefined) return;
      const database = openSync(files.database, "r");
      const index = openSync(`${files.database}-shm`, "r");
      opened.own = { database, index, marks: [mark, readMark(database)], log: identityOf(log) };
    },
    health: () => ({ problem: problemNow(), remarks: [...remarks, ...lostHistory()] }),
    close() {
      if (opened?.own) for (const descriptor of [opened.own.database, opened.own.index]) closeSync(descriptor);
      opened = undefined;
    },
  };
}

const SUSPECTED =
  "A disk that fails for a moment looks like this, too: the gateway checks the whole file within some minutes, and `npx hookgate doctor` checks it now. If it is damaged, stop the gateway and restore a backup with `npx hookgate restore FILE`.";
const RESTORE = "Stop the gateway, then restore a backup with `npx hookgate restore FILE`.";

/** What another process did to the log; undefined when nothing shows. Nothing else holds locks on it, so it can be opened and closed. */
function changeOfLog(file: string, own: OwnFiles): string | undefined {
  if (identityOf(file) !== own.log) return "deleted or replaced";
  const bytes = sizeOf(file);
  // A checkpoint of another program may cut off what is in the database already, and says so in the index before it does.
  if (bytes < (readIndex(own.index)?.logBytes ?? 0)) return "cut short";
  return bytes < LOG_HEADER_BYTES || isHeaderSound(headerOf(file)) ? undefined : "overwritten at its start";
}

function headerOf(file: string): Buffer {
  const header = Buffer.alloc(LOG_HEADER_BYTES);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, header, 0, LOG_HEADER_BYTES, 0);
  } finally {
    closeSync(descriptor);
  }
  return header;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function identityOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file);
    return `${dev}:${ino}`;
  } catch {
    return undefined; // gone, or out of reach: both are what is asked
  }
}
