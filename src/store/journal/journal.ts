/**
 * The journal: takes records without ever making a caller wait, hands them to the writer in batches, and reads them back. When records come
 * faster than the disk takes them, the oldest that did not fail are dropped, counted and reported.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import type { Database } from "better-sqlite3";
import type { DispatchRecord, Journal, RunNames } from "../../domain/journal.js";
import { within } from "../../lib/concurrency/within.js";
import { errorMessage } from "../../lib/errors.js";
import { newId } from "../../lib/id.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import { markDatabase } from "../database-file/identity.js";
import { requireSound } from "../database-file/inspect.js";
import { moveAside } from "../database-file/move-aside.js";
import { historyError, storeError } from "../errors.js";
import { createSchema, HISTORY_SCHEMA, requireSchema } from "../schema.js";
import { openJournalDatabase } from "./database.js";
import { createLocalLink, createWorkerLink, type LinkOptions } from "./link.js";
import type { JournalReply } from "./protocol.js";
import { createJournalReader, type JournalReader } from "./reader.js";
import { Sender } from "./sender.js";
import { createSweeps } from "./sweeps.js";

export interface JournalOptions {
  file: string;
  clock: Clock;
  logger: Logger;
  /** Secrets that must not reach the disk. May grow while the journal is open. */
  secrets?: (string | undefined)[] | undefined;
  /** Records nothing. */
  readonly: boolean;
  /** The number of the database, which its history shares. */
  mark?: number | undefined;
  /** Gets a sentence for the operator when the file was damaged. */
  remark?: ((message: string, facts?: object) => void) | undefined;
  /** Writes in this thread: for databases that are gone when they are closed. */
  inProcess: boolean;
  /** Records that may wait for the writer. */
  maxPending?: number;
  /** Called with every writing thread that is started. */
  onWorker?: LinkOptions["onWorker"];
}

export interface StoredJournal extends Journal {
  /** Deletes dispatches from before this time, and the oldest above so many. */
  sweep(before: number, maxRows: number): Promise<Record<string, number>>;
  /** Records dropped because they came too fast, or because the file could not be written. */
  readonly lost: number;
  close(): Promise<void>;
}

const MAX_PENDING = 20_000;
/** The limit of the last flush. It is shorter than that of any other flush: a writer that is away, or stuck, does not hold up a stop. */
const LAST_FLUSH_MS = 5_000;
/** Files up to this size are checked at the start; damage in a larger file is met when it is read. */
const CHECKED_BYTES = 128_000_000;

/** Brings the file up to date. The writer's thread starts with the first record. Rejects with a STORE_… error. */
export async function openJournal(options: JournalOptions): Promise<StoredJournal> {
  const { file, clock } = options;
  if (options.readonly && !existsSync(file)) return emptyJournal();
  const reading = await openOrReplace(options);
  const onError = damageNote(options);
  const read: JournalReader = createJournalReader(reading, file, onError);
  const writing = options.readonly ? undefined : createWriting(options, onError);
  return {
    leavesOutRaw: true,
    record: (dispatch, names) => writing?.record(dispatch, names),
    flush: async () => writing?.sender.flush(),
    get: read.get,
    getByRun: read.getByRun,
    list: read.list,
    stats: () => read.stats(clock.now()),
    sweep: async (before, maxRows) => (await writing?.sweep(before, maxRows)) ?? {},
    get lost() {
      return writing?.sender.lost ?? 0;
    },
    async close() {
      // The writer goes last: only it can clean up the log.
      reading.close();
      await writing?.close();
    },
  };
}

/** Reports the first damage that a read or a write meets: it lasts until a restart. */
function damageNote({ remark }: JournalOptions) {
  let isNoted = false;
  return ({ code, message, hint = "" }: { code: string; message: string; hint?: string | undefined }): void => {
    if (code !== "STORE_CORRUPT" || isNoted) return;
    isNoted = true;
    remark?.(`${message}. ${hint}`);
  };
}

/** The history may be lost, the start must not fail: a damaged file is moved aside and an empty one takes its place. */
async function openOrReplace(options: JournalOptions): Promise<Database> {
  const { file, readonly, clock, remark } = options;
  try {
    return await openForReading(options);
  } catch (thrown) {
    const error = storeError(thrown, file);
    const state = error.code === "STORE_CORRUPT" ? "was damaged" : stateOf(file);
    if (readonly || state === undefined) throw error;
    const aside = moveAside(file, error.code === "STORE_CORRUPT" ? "damaged" : "replaced", clock.now());
    remark?.(
      `the history ${file} ${state} and is now ${aside}: earlier runs of hooks cannot be shown, no message is lost`,
      {
        error: error.message,
      },
    );
    return openForReading(options);
  }
}

/** Why an existing file cannot be opened at all. */
function stateOf(file: string): string | undefined {
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    if (stats.isDirectory()) return "was a directory";
    accessSync(file, constants.R_OK);
    return undefined;
  } catch {
    return "could not be read by the gateway's user";
  }
}

async function openForReading({ file, readonly, mark }: JournalOptions): Promise<Database> {
  if (!readonly) {
    const database = openJournalDatabase(file, "creator");
    try {
      if (statSync(file).size <= CHECKED_BYTES) requireSound(database, file);
      createSchema(database, file, HISTORY_SCHEMA);
      if (mark !== undefined) markDatabase(database, mark);
    } finally {
      database.close();
    }
  }
  const database = openJournalDatabase(file, "reader");
  try {
    requireSchema(database, file, HISTORY_SCHEMA);
    return database;
  } catch (thrown) {
    database.close();
    throw thrown;
  }
}

function createWriting(options: JournalOptions, onError: ReturnType<typeof damageNote>) {
  const { file, clock, logger, secrets = [], inProcess, maxPending = MAX_PENDING, onWorker } = options;
  const onReply = (reply: JournalReply) => {
    if (reply.kind === "refused") onError(reply);
    if (reply.kind === "swept" || reply.kind === "sweep-failed") sweeps.onReply(reply);
    else sender.onReply(reply);
    if (reply.kind === "ready") sweeps.onReady();
  };
  const linkOptions: LinkOptions = {
    facts: { file, session: newId("s", clock.now()), secrets },
    clock,
    logger,
    onReply,
    onError: (error) => onError(historyError(error, file)),
    onDeath: () => sweeps.end(),
    onWorker,
  };
  const link = inProcess ? createLocalLink(linkOptions) : createWorkerLink(linkOptions);
  const sender = new Sender(link, { clock, logger, maxPending, file });
  const sweeps = createSweeps(link, sender);
  let isClosed = false;
  return {
    sender,
    sweep: sweeps.sweep,
    record(dispatch: DispatchRecord, names: RunNames | undefined): void {
      if (isClosed) return;
      try {
        sender.push(dispatch, names);
      } catch (thrown) {
        // The port must never throw: firing hooks must not fail because of the journal.
        logger.error({ err: thrown, dispatchId: dispatch.id }, `a dispatch was not recorded: ${errorMessage(thrown)}`);
      }
    },
    async close(): Promise<void> {
      isClosed = true;
      if (!(await within(clock, LAST_FLUSH_MS, sender.flush())))
        logger.error({ file }, "The last runs of hooks are not in the history: it could not be written in time.");
      sweeps.end();
      await link.close();
    },
  };
}

/** For looking at a database whose gateway never recorded anything. */
function emptyJournal(): StoredJournal {
  return {
    record: () => {},
    flush: async () => {},
    get: async () => undefined,
    getByRun: async () => undefined,
    list: async () => [],
    stats: async () => new Map(),
    sweep: async () => ({}),
    lost: 0,
    close: async () => {},
  };
}
