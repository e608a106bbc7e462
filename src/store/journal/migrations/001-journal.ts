/** The journal's own file: records in segments, and counts of hooks that outlive them. */
import { migrationOf } from "../../migrate.js";

export const journal = migrationOf([
  // `traits` stands before `lines`, so that asking it does not read them.
  `CREATE TABLE segments (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    records INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
    traits BLOB NOT NULL, lines BLOB NOT NULL
  )`,
  // `latencies`: JSON object, bucket → count.
  `CREATE TABLE hook_hours (
    hook TEXT NOT NULL, hour INTEGER NOT NULL,
    fires INTEGER NOT NULL, failures INTEGER NOT NULL, latencies TEXT NOT NULL,
    PRIMARY KEY (hook, hour)
  ) WITHOUT ROWID`,
  "CREATE INDEX hook_hours_hour ON hook_hours (hour)",
  `CREATE TABLE hook_totals (
    hook TEXT PRIMARY KEY, fires INTEGER NOT NULL, last_at INTEGER NOT NULL, last_outcome TEXT NOT NULL
  ) WITHOUT ROWID`,
  // The last batch that each writing process got in, so that one sent again after a crash is not written twice.
  "CREATE TABLE batches (session TEXT PRIMARY KEY, batch INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID",
]);
