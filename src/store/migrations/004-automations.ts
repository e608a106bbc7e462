/** Operator-defined hooks: runs and their leases, timed triggers, events that came in by HTTP, what watched files looked like. */
import { migrationOf } from "../migrate.js";

export const automations = migrationOf([
  // `data` is everything that is only read back. `pending` is the payload as it came, for a run that must still happen.
  `CREATE TABLE automation_runs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    hook_id TEXT NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    repeatable INTEGER NOT NULL,
    created_at INTEGER NOT NULL, due_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER,
    lease_owner TEXT, lease_until INTEGER,
    data TEXT NOT NULL, pending TEXT
  )`,
  "CREATE INDEX automation_runs_hook ON automation_runs (hook_id, seq)",
  "CREATE INDEX automation_runs_started ON automation_runs (hook_id, started_at) WHERE started_at IS NOT NULL",
  "CREATE INDEX automation_runs_waiting ON automation_runs (due_at, seq) WHERE status IN ('queued', 'backgrounded')",
  "CREATE INDEX automation_runs_running ON automation_runs (lease_until) WHERE status = 'running'",
  `CREATE TABLE automation_triggers (
    hook_id TEXT PRIMARY KEY, schedule TEXT NOT NULL, last_at INTEGER, next_at INTEGER
  ) WITHOUT ROWID`,
  `CREATE TABLE automation_events (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, payload TEXT NOT NULL, received_at INTEGER NOT NULL, handled_at INTEGER
  ) WITHOUT ROWID`,
  "CREATE INDEX automation_events_open ON automation_events (received_at) WHERE handled_at IS NULL",
  `CREATE TABLE automation_files (
    watch_id TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, mtime REAL NOT NULL, ctime REAL NOT NULL,
    PRIMARY KEY (watch_id, path)
  ) WITHOUT ROWID`,
  // A watch that saw an empty folder is not one that never looked.
  "CREATE TABLE automation_watches (watch_id TEXT PRIMARY KEY) WITHOUT ROWID",
]);
