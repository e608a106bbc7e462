/** Missions, the schedules that begin them, and what assessments found. */
import { migrationOf } from "../migrate.js";

export const missions = migrationOf([
  // `owed`: what hooks are still to be told, a JSON list; NULL when nothing is.
  `CREATE TABLE missions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    plan_id TEXT NOT NULL,
    status TEXT NOT NULL,
    ended_at INTEGER,
    data TEXT NOT NULL, owed TEXT, report TEXT
  )`,
  "CREATE INDEX missions_open ON missions (seq) WHERE ended_at IS NULL OR owed IS NOT NULL",
  "CREATE INDEX missions_status ON missions (status, seq)",
  "CREATE INDEX missions_plan ON missions (plan_id, seq)",
  "CREATE INDEX missions_ended ON missions (ended_at) WHERE ended_at IS NOT NULL",
  "CREATE TABLE schedules (id TEXT PRIMARY KEY, next_at INTEGER, data TEXT NOT NULL) WITHOUT ROWID",
  `CREATE TABLE assessments (
    task_id TEXT NOT NULL, attempt INTEGER NOT NULL, ended_at INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (task_id, attempt)
  ) WITHOUT ROWID`,
  "CREATE INDEX assessments_ended ON assessments (ended_at)",
]);
