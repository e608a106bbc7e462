/** The journal's own file: one row a dispatch with its runs inside, where to find them by hook, and counts that outlive them. */
import { migrationOf } from "../../migrate.js";

export const journal = migrationOf([
  // Hook ids and point names, once.
  "CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
  `CREATE TABLE dispatches (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    point INTEGER NOT NULL, at INTEGER NOT NULL, outcome TEXT NOT NULL, failed INTEGER NOT NULL,
    conversation TEXT, message_id TEXT,
    record TEXT NOT NULL
  )`,
  "CREATE INDEX dispatches_id ON dispatches (id)",
  "CREATE INDEX dispatches_point ON dispatches (point)",
  "CREATE INDEX dispatches_message ON dispatches (message_id) WHERE message_id IS NOT NULL",
  "CREATE INDEX dispatches_conversation ON dispatches (conversation) WHERE conversation IS NOT NULL",
  "CREATE INDEX dispatches_failed ON dispatches (n) WHERE failed = 1",
  "CREATE INDEX dispatches_remarkable ON dispatches (outcome) WHERE outcome <> 'passed'",
  "CREATE TABLE hook_dispatches (hook INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (hook, n)) WITHOUT ROWID",
  // Only runs whose id does not begin with their dispatch's id; the kernel's do.
  "CREATE TABLE foreign_runs (run_id TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (run_id, n)) WITHOUT ROWID",
  // `latencies`: JSON object, bucket → count.
  `CREATE TABLE hook_hours (
    hook INTEGER NOT NULL, hour INTEGER NOT NULL,
    fires INTEGER NOT NULL, failures INTEGER NOT NULL, latencies TEXT NOT NULL,
    PRIMARY KEY (hook, hour)
  ) WITHOUT ROWID`,
  "CREATE INDEX hook_hours_hour ON hook_hours (hour)",
  `CREATE TABLE hook_totals (
    hook INTEGER PRIMARY KEY, fires INTEGER NOT NULL, last_at INTEGER NOT NULL, last_outcome TEXT NOT NULL
  )`,
  // The last batch that each writing process got in, so that one sent again after a crash is not written twice.
  "CREATE TABLE batches (session TEXT PRIMARY KEY, batch INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID",
]);
