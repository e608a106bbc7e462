/** Problems of the files of an open store: damage that a read or a write met, files that were deleted under the gateway. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { StoreHealth } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import type { DatabaseFiles } from "./files.js";
import { readMark } from "./identity.js";
import { isHeaderSound, LOG_HEADER_BYTES, readIndex } from "./lost-log.js";

export interface Damage {
  /**
   * Remembers an error of a read or a write that looks like damage; others are ignored. A disk that fails for a moment looks like it, too.
   */
  note(error: HookgateError): void;
  /** A read or a write met an error that looks like damage, and no check of the whole file has decided about it. */
  isSuspected(): boolean;
  /** Takes the result of a check of the whole file; undefined when the file is sound. */
  decide(error: HookgateError | undefined): void;
  /** A loss that was found at the start, or a part that works no more. Logged, and shown until a restart. */
  remark(message: string, facts?: object): void;
  /**
   * The files are open: from now on it is noticed when one is deleted, replaced or overwritten. `mark`: the number of the database, unless
   * another process may write it.
   */
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

type WatchedFiles = Pick<DatabaseFiles, "database" | "path" | "journal">;

export function watchForDamage(files: WatchedFiles, logger: Logger): Damage {
  return new WatchedDamage(files, logger);
}

class WatchedDamage implements Damage {
  readonly #files: WatchedFiles;
  readonly #logger: Logger;
  readonly #log: string;
  readonly #remarks: string[] = [];
  #opened: Opened | undefined;
  /** The error stays until a restart. */
  #found: HookgateError | undefined;
  #suspicion: HookgateError | undefined;
  #isGoneLogged = false;

  constructor(files: WatchedFiles, logger: Logger) {
    this.#files = files;
    this.#logger = logger;
    this.#log = `${files.database}-wal`;
  }

  note(error: HookgateError): void {
    if (error.code !== "STORE_CORRUPT" || this.#found !== undefined || this.#suspicion !== undefined) return;
    const { code, message, cause } = error;
    this.#suspicion = new HookgateError({ code, message, hint: SUSPECTED, cause });
    this.#logger.error({ code, hint: SUSPECTED }, message);
  }

  isSuspected(): boolean {
    return this.#suspicion !== undefined;
  }

  decide(error: HookgateError | undefined): void {
    const { database } = this.#files;
    if (error?.code === "STORE_CORRUPT") this.#remember(error);
    else if (error === undefined && this.#suspicion !== undefined)
      this.#logger.warn({}, `the database ${database} is sound: what looked like damage was a failure of the disk`);
    // Else the disk fails, which decides nothing.
    else return;
    this.#suspicion = undefined;
  }

  remark(message: string, facts: object = {}): void {
    this.#remarks.push(message);
    this.#logger.warn(facts, message);
  }

  filesAreOpen(mark: number | undefined): void {
    const files = this.#files;
    this.#opened = { database: identityOf(files.database), journal: identityOf(files.journal) };
    if (mark === undefined) return;
    const database = openSync(files.database, "r");
    const index = openSync(`${files.database}-shm`, "r");
    this.#opened.own = { database, index, marks: [mark, readMark(database)], log: identityOf(this.#log) };
  }

  health(): StoreHealth {
    return { problem: this.#problemNow(), remarks: [...this.#remarks, ...this.#lostHistory()] };
  }

  close(): void {
    const own = this.#opened?.own;
    if (own) for (const descriptor of [own.database, own.index]) closeSync(descriptor);
    this.#opened = undefined;
  }

  #problemNow(): HookgateError | undefined {
    if (this.#found !== undefined) return this.#found;
    if (this.#suspicion !== undefined) return this.#suspicion;
    const error = this.#gone();
    if (error !== undefined && !this.#isGoneLogged)
      this.#logger.error({ code: error.code, hint: error.hint }, error.message);
    this.#isGoneLogged = error !== undefined;
    const damage = error === undefined && this.#opened ? this.#overwrittenIfReadable(this.#opened) : undefined;
    if (damage) this.#remember(damage);
    return error ?? damage;
  }

  #remember(error: HookgateError): void {
    if (this.#found !== undefined) return;
    this.#found = error;
    this.#logger.error({ code: error.code, hint: error.hint }, error.message);
  }

  /** The database file is not in its place. It may come back. */
  #gone(): HookgateError | undefined {
    if (!this.#opened) return undefined;
    const { database } = this.#files;
    if (identityOf(database) === this.#opened.database) return this.#ledAway(this.#opened);
    return new HookgateError({
      code: "STORE_GONE",
      message: `the database ${database} was deleted or replaced while the gateway runs: what it stores now is lost when it stops`,
      hint: RESTORE,
    });
  }

  /** The database file is in its place, and a start would not find it there. */
  #ledAway({ database }: Opened): HookgateError | undefined {
    const files = this.#files;
    if (files.path === files.database) return undefined;
    const found = identityOf(files.path);
    if (found === database) return undefined;
    return new HookgateError({
      code: "STORE_GONE",
      message: `a link on the way to the database was changed while the gateway runs: ${files.path} ${found === undefined ? "does not exist any more" : "is another file now"}, and the gateway still uses ${files.database}. A restart would not find what it stores now`,
      hint: `Make the link lead to ${files.database} again. Or stop the gateway and move its files to where the link leads, then start it.`,
    });
  }

  #overwrittenIfReadable(opened: Opened): HookgateError | undefined {
    try {
      return this.#overwritten(opened);
    } catch {
      return undefined; // the disk does not report them: reads and writes of the database report that
    }
  }

  /** A file of the database was written over. The error does not end before a restart: the gateway's own writes hide it sooner or later. */
  #overwritten({ own }: Opened): HookgateError | undefined {
    if (!own) return undefined;
    if (!own.marks.includes(readMark(own.database)))
      return new HookgateError({
        code: "STORE_FOREIGN",
        message: `the database ${this.#files.database} was overwritten with another file while the gateway runs: what the gateway stored is lost`,
        hint: RESTORE,
      });
    const how = changeOfLog(this.#log, own);
    if (how === undefined) return undefined;
    return new HookgateError({
      code: "STORE_CORRUPT",
      message: `${this.#log} was ${how} while the gateway runs: the newest changes are lost, and the database may be damaged`,
      hint: `Stop the gateway and start it again: the start checks the database. If it is damaged, restore a backup with \`npx hookgate restore FILE\`.`,
    });
  }

  #lostHistory(): string[] {
    const { journal } = this.#files;
    if (!this.#opened) return [];
    const isThere = identityOf(journal) === this.#opened.journal;
    if (isThere && sizeOf(journal) > 0) return [];
    const how = isThere ? "emptied" : "deleted or replaced";
    return [`the history ${journal} was ${how} while the gateway runs: a restart starts an empty one`];
  }
}

const SUSPECTED =
  "A disk that fails for a moment looks like this, too: the gateway checks the whole file within some minutes, and `npx hookgate doctor` checks it now. If it is damaged, stop the gateway and restore a backup with `npx hookgate restore FILE`.";
const RESTORE = "Stop the gateway, then restore a backup with `npx hookgate restore FILE`.";

/**
 * The change that another process made to the log; undefined when nothing shows. Nothing else holds locks on it, so it can be opened and
 * closed.
 */
function changeOfLog(file: string, own: OwnFiles): string | undefined {
  if (identityOf(file) !== own.log) return "deleted or replaced";
  const bytes = sizeOf(file);
  // A checkpoint of another program may cut off commits that are in the database already, and records that in the index before it does.
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
