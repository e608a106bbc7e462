/** Opens the store: the file, its lock, its schema, and one repository per kind of thing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import type { Store } from "../domain/store.js";
import type { WalSync } from "../fast/group-commit.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { createAlertStore } from "./alerts/alerts.js";
import { createAudit } from "./audit.js";
import { createAutomationStore } from "./automation/automation.js";
import type { Retention, StoreConfig } from "./config.js";
import { type Connection, connect, type Durability, openDatabase } from "./connection.js";
import { keepConsoleToken } from "./console-token.js";
import { createCursors } from "./cursors.js";
import { createCheck } from "./database-file/check.js";
import { type Damage, watchForDamage } from "./database-file/damage.js";
import { type ExclusiveLock, takeExclusiveLock } from "./database-file/exclusive-lock.js";
import {
  type DatabaseFiles,
  databaseFiles,
  filesBeside,
  narrowFiles,
  requireFolder,
  requireRegularFiles,
  requireUploadsFolder,
} from "./database-file/files.js";
import { openOwnDatabase } from "./database-file/open-own.js";
import { requireOwned } from "./database-file/owned.js";
import { forgetOwner, readOwner } from "./database-file/owner.js";
import { createGiveUp, endUnreadable } from "./database-file/unreadable.js";
import { createWalSync, type Disk } from "./database-file/wal-sync.js";
import { closeLeavingLog } from "./driver.js";
import { storeError } from "./errors.js";
import { createHookState } from "./hook-state.js";
import { openJournal } from "./journal/journal.js";
import { createKeyValue } from "./key-value.js";
import { createActions } from "./messages/actions.js";
import { createInbox } from "./messages/inbox.js";
import { createInboxSeen } from "./messages/inbox-seen.js";
import { createLinks } from "./messages/links.js";
import { createAddDelivery } from "./messages/new-deliveries.js";
import { createOutbox } from "./messages/outbox.js";
import { createWebChat } from "./messages/web-chat.js";
import { createMissionStores } from "./orchestrator/mission-stores.js";
import { createTasks } from "./orchestrator/tasks.js";
import { createOwnSecrets } from "./own-secrets.js";
import { createPauses } from "./pauses.js";
import { createAddPending, createPending } from "./pending.js";
import { createSweep } from "./retention.js";
import { GATEWAY_SCHEMA, requireSchema } from "./schema.js";
import { createShiftWaits } from "./shift-waits.js";
import { createSlaStore } from "./sla/sla.js";
import { createVerify } from "./verify.js";

export interface StoreOptions {
  /** `file:` and a path; `:memory:` = a temporary database that is gone when it is closed. */
  url: string;
  durability: StoreConfig["durability"];
  retention: Retention;
  clock: Clock;
  logger: Logger;
  /** Secrets that must not reach the journal's file. May grow while the store is open. */
  secrets?: (string | undefined)[];
  /** False: only look, beside a gateway that may be running; every write is refused. */
  exclusive?: boolean;
  /** Starts with an empty database although the history of another one is there; that history is moved aside. */
  newDatabase?: boolean | undefined;
  /** How long the start waits for a lock that another program holds on the file. */
  lockWaitMs?: number;
  /** Another disk in tests. */
  disk?: Disk;
}

const LOCK_WAIT_MS = 5000;

/** Rejects with a STORE_… error that names the file and the next step. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { files, durability, cleanUp } = locate(options);
  const file = files.database;
  const readonly = options.exclusive === false;
  const damage = watchForDamage(files, options.logger);
  let lock: ExclusiveLock | undefined;
  let database: Database | undefined;
  let walSync: WalSync | undefined;
  let checkedAt: number | undefined;
  let mark: number | undefined;
  let forget: (() => void) | undefined;
  try {
    if (readonly) {
      database = openDatabase(file, { durability, readonly });
      requireSchema(database, file, GATEWAY_SCHEMA);
    } else {
      requireFolder(files);
      requireUploadsFolder(files);
      requireRegularFiles(files);
      requireOwned(files);
      narrow(files, options.logger);
      lock = takeExclusiveLock(files, () => readOwner(file));
      const own = await openOwnDatabase(files, {
        durability,
        clock: options.clock,
        newDatabase: options.newDatabase ?? false,
      });
      ({ database, checkedAt, mark } = own);
      for (const loss of own.losses) damage.remark(loss);
      // A start that fails is no crash. A start that found a loss only logs it: then the next start has to warn, too.
      if (own.losses.length === 0) forget = forgetOwner(database);
    }
    const { clock, lockWaitMs = LOCK_WAIT_MS } = options;
    walSync = durability === "full" && !readonly ? createWalSync(file, clock, options.disk) : undefined;
    const onError: Damage["note"] = (error) => damage.note(error);
    const connection = connect(file, database, { clock, lockWaitMs, walSync, onError });
    const verify = createVerify(file, damage, checkedAt);
    return await assemble(
      options,
      files,
      connection,
      { damage, verify },
      { readonly, inProcess: cleanUp !== undefined, mark },
      () => {
        lock?.release();
        cleanUp?.();
      },
    );
  } catch (thrown) {
    walSync?.close();
    if (database !== undefined) closeFailed(database, file, forget);
    damage.close();
    lock?.release();
    cleanUp?.();
    throw storeError(thrown, file);
  }
}

/** A start that fails is no crash. When that cannot be written, the next start looks for losses, and must find the log. */
function closeFailed(database: Database, file: string, forget: (() => void) | undefined): void {
  try {
    forget?.();
    database.close();
  } catch {
    closeLeavingLog(database, file);
  }
}

async function assemble(
  options: StoreOptions,
  files: DatabaseFiles,
  connection: Connection,
  { damage, verify }: { damage: Damage; verify: Store["verify"] },
  mode: { readonly: boolean; inProcess: boolean; mark: number | undefined },
  release: () => void,
): Promise<Store> {
  const { clock, logger, secrets, retention } = options;
  const remark: Damage["remark"] = (message, facts) => damage.remark(message, facts);
  const journal = await openJournal({ file: files.journal, clock, logger, secrets, remark, ...mode });
  const addDelivery = createAddDelivery(connection.database);
  const seen = createInboxSeen(connection);
  const addPending = createAddPending(connection);
  const sweepMain = createSweep(connection, seen, retention);
  const check = createCheck(connection, damage);
  const forget = forgetOwner(connection.database);
  const giveUp = createGiveUp(connection, clock, logger);
  if (!mode.readonly) await endUnreadable(connection, giveUp, damage);
  damage.filesAreOpen(mode.mark);
  return {
    inbox: createInbox(connection, seen, addDelivery, giveUp.messages, addPending),
    outbox: createOutbox(connection, addDelivery, giveUp, addPending),
    journal,
    actions: createActions(connection),
    links: createLinks(connection),
    pauses: createPauses(connection),
    audit: createAudit(connection),
    automation: createAutomationStore(connection, addPending),
    pending: createPending(connection, addPending),
    tasks: createTasks(connection, addPending),
    sla: createSlaStore(connection),
    missions: createMissionStores(connection, addPending),
    alerts: createAlertStore(connection),
    hookState: createHookState(connection),
    keyValue: createKeyValue(connection),
    web: createWebChat(connection),
    cursors: createCursors(connection),
    ownSecret: createOwnSecrets(connection),
    consoleToken: () => keepConsoleToken(files.token, (message) => logger.warn({ file: files.token }, message)),
    shiftWaits: createShiftWaits(connection, clock),
    async sweep(now) {
      const removed = await sweepMain(now);
      return { ...removed, ...(await journal.sweep(now - retention.journal_for, retention.journal_rows)) };
    },
    durable: connection.durable,
    written: () => connection.write(() => {}),
    check,
    health: () => damage.health(),
    verify,
    async close() {
      await journal.close();
      // Where this fails, the next start looks for losses, as after a crash.
      if (!mode.readonly) await connection.commit(forget).catch(() => {});
      await connection.close();
      damage.close();
      release();
    },
  };
}

function locate({ url, durability }: StoreOptions): {
  files: DatabaseFiles;
  durability: Durability;
  cleanUp?: () => void;
} {
  if (url !== ":memory:") return { files: databaseFiles(url), durability };
  // A real file, so that WAL, the journal's own file and the reading connection are the same as in use.
  const folder = mkdtempSync(join(tmpdir(), "hookgate-"));
  return {
    files: filesBeside(join(folder, "hookgate.db")),
    durability: "none",
    cleanUp: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A file whose mode cannot be changed is reported and used. */
function narrow(files: DatabaseFiles, logger: Logger): void {
  for (const { path, reason } of narrowFiles(files))
    logger.warn(
      { file: path },
      `other users of this machine can open ${path}, and its mode cannot be changed (${errorMessage(reason)}); change its owner or its mode by hand`,
    );
}
