/** What operators did and set, and what adapters and plugins remember. */
import { migrationOf } from "../migrate.js";

export const operatorsAndPlugins = migrationOf([
  `CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL, operator TEXT NOT NULL, action TEXT NOT NULL, target TEXT, details TEXT, outcome TEXT NOT NULL
  )`,
  `CREATE TABLE hook_switches (
    hook_id TEXT PRIMARY KEY, enabled INTEGER NOT NULL, by TEXT NOT NULL, at INTEGER NOT NULL
  ) WITHOUT ROWID`,
  `CREATE TABLE key_values (
    scope TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (scope, key)
  ) WITHOUT ROWID`,
  `CREATE TABLE cursors (
    scope TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (scope, key)
  ) WITHOUT ROWID`,
  "CREATE TABLE own_secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
  // Facts about this installation: who has it open, and the row that a health check writes.
  "CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
]);
