/** Opens the store: the file, its lock, its schema, and one repository per kind of thing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Database } from "better-sqlite3";
import type { Store } from "../domain/store.js";
import type { Clock } from "../lib/clock.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { createActions } from "./actions.js";
import { createAlertStore } from "./alerts/alerts.js";
import { createAudit } from "./audit.js";
import { createAutomationStore } from "./automation/automation.js";
import { createCheck } from "./check.js";
import type { Retention, StoreConfig } from "./config.js";
import { type Connection, connect, type Durability, openDatabase } from "./connection.js";
import { createCursors } from "./cursors.js";
import { type ExclusiveLock, takeExclusiveLock } from "./exclusive-lock.js";
import { createFreshDeliveries } from "./fresh-deliveries.js";
import { createHookState } from "./hook-state.js";
import { createInbox } from "./inbox.js";
import { createInboxSeen } from "./inbox-seen.js";
import { openJournal } from "./journal/journal.js";
import { createKeyValue } from "./key-value.js";
import { createLinks } from "./links.js";
import { migrate, requireMigrated } from "./migrate.js";
import { migrations } from "./migrations/index.js";
import { createMissionStores } from "./orchestrator/mission-stores.js";
import { createTasks } from "./orchestrator/tasks.js";
import { createOutbox } from "./outbox.js";
import { createOwnSecrets } from "./own-secrets.js";
import { readOwner, writeOwner } from "./owner.js";
import { createPauses } from "./pauses.js";
import { createSweep } from "./retention.js";
import { createSlaStore } from "./sla/sla.js";
import { endUnreadable } from "./unreadable.js";
import { createWalSync, type Disk, type WalSync } from "./wal-sync.js";
import { createWebChat } from "./web-chat.js";

export interface StoreOptions {
  /** `file:` and a path; `:memory:` = a temporary database that is gone when it is closed. */
  url: string;
  durability: StoreConfig["durability"];
  retention: Retention;
  clock: Clock;
  logger: Logger;
  /** What must not reach the journal's file. May grow while the store is open. */
  secrets?: (string | undefined)[];
  /** False: only look, beside a gateway that may be running; every write is refused. */
  exclusive?: boolean;
  /** How long a lock that another program holds on the file is waited for. */
  lockWaitMs?: number;
  /** Another one in tests. */
  disk?: Disk;
}

const LOCK_WAIT_MS = 5000;

/** Rejects with a STORE_… error that names the file and says what to do. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { file, durability, cleanUp } = locate(options);
  const readonly = options.exclusive === false;
  let lock: ExclusiveLock | undefined;
  let database: Database | undefined;
  let walSync: WalSync | undefined;
  try {
    if (!readonly) lock = takeExclusiveLock(file, () => readOwner(file));
    database = openDatabase(file, { durability, readonly });
    if (readonly) requireMigrated(database, file, migrations);
    else {
      await migrate(database, file, migrations);
      writeOwner(database, file, options.clock.now());
    }
    const { clock, lockWaitMs = LOCK_WAIT_MS } = options;
    walSync = durability === "full" && !readonly ? createWalSync(file, clock, options.disk) : undefined;
    const connection = connect(file, database, { clock, lockWaitMs, walSync });
    return await assemble(options, connection, { readonly, inProcess: cleanUp !== undefined }, () => {
      lock?.release();
      cleanUp?.();
    });
  } catch (thrown) {
    walSync?.close();
    database?.close();
    lock?.release();
    cleanUp?.();
    throw thrown;
  }
}

async function assemble(
  options: StoreOptions,
  connection: Connection,
  mode: { readonly: boolean; inProcess: boolean },
  release: () => void,
): Promise<Store> {
  const { clock, logger, secrets, retention } = options;
  const journal = await openJournal({ file: journalFile(connection.file), clock, logger, secrets, ...mode });
  const fresh = createFreshDeliveries(connection);
  const seen = createInboxSeen(connection);
  const sweepMain = createSweep(connection, seen, retention);
  const check = createCheck(connection);
  if (!mode.readonly) await endUnreadable(connection, clock.now(), logger);
  return {
    inbox: createInbox(connection, seen, fresh.add),
    outbox: createOutbox(connection, fresh),
    journal,
    actions: createActions(connection),
    links: createLinks(connection),
    pauses: createPauses(connection),
    audit: createAudit(connection),
    automation: createAutomationStore(connection),
    tasks: createTasks(connection),
    sla: createSlaStore(connection),
    missions: createMissionStores(connection),
    alerts: createAlertStore(connection),
    hookState: createHookState(connection),
    keyValue: createKeyValue(connection),
    web: createWebChat(connection),
    cursors: createCursors(connection),
    ownSecret: createOwnSecrets(connection),
    async sweep(now) {
      const removed = await sweepMain(now);
      return { ...removed, ...(await journal.sweep(now - retention.journal_for, retention.journal_rows)) };
    },
    durable: connection.durable,
    check,
    async close() {
      await journal.close();
      await connection.close();
      release();
    },
  };
}

function locate({ url, durability }: StoreOptions): { file: string; durability: Durability; cleanUp?: () => void } {
  if (url === ":memory:") {
    // A real file, so that WAL, the journal's own file and the reading connection are what they are in earnest.
    const folder = mkdtempSync(join(tmpdir(), "hookgate-"));
    return {
      file: join(folder, "hookgate.db"),
      durability: "none",
      cleanUp: () => rmSync(folder, { recursive: true, force: true }),
    };
  }
  if (!url.startsWith("file:"))
    throw new HookgateError({
      code: "STORE_FAILED",
      message: `expected a database URL of the form file:PATH, got "${url}"`,
      hint: "Set DATABASE_URL to file: and a path, for example file:data/hookgate.db.",
    });
  const file = url.startsWith("file://") ? fileURLToPath(url) : resolve(url.slice("file:".length));
  return { file, durability };
}

function journalFile(file: string): string {
  return file.replace(/(\.(db|sqlite3?))?$/, "-journal.db");
}
