/** SLA clocks, what they announce, and the conversations that some of them are about. */
import { migrationOf } from "../migrate.js";

export const sla = migrationOf([
  // `data` is everything that is only read back.
  `CREATE TABLE sla_clocks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    policy TEXT NOT NULL, policy_hash TEXT NOT NULL,
    entity_type TEXT NOT NULL, entity_id TEXT NOT NULL,
    measure TEXT NOT NULL, cycle TEXT NOT NULL,
    state TEXT NOT NULL, outcome TEXT,
    due_at INTEGER, next_at INTEGER, ended_at INTEGER, violated_at INTEGER,
    used_ms INTEGER, target_ms INTEGER NOT NULL,
    data TEXT NOT NULL
  )`,
  "CREATE UNIQUE INDEX sla_clocks_key ON sla_clocks (entity_id, entity_type, policy, measure, cycle)",
  "CREATE INDEX sla_clocks_hash ON sla_clocks (policy_hash, seq) WHERE ended_at IS NULL",
  "CREATE INDEX sla_clocks_next ON sla_clocks (next_at) WHERE next_at IS NOT NULL",
  "CREATE INDEX sla_clocks_open ON sla_clocks (state DESC, due_at, seq) WHERE ended_at IS NULL",
  "CREATE INDEX sla_clocks_overdue ON sla_clocks (due_at, seq) WHERE ended_at IS NULL AND violated_at IS NOT NULL",
  "CREATE INDEX sla_clocks_ended ON sla_clocks (ended_at) WHERE ended_at IS NOT NULL",
  `CREATE TABLE sla_announcements (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    clock_id TEXT NOT NULL, episode INTEGER NOT NULL, at INTEGER NOT NULL,
    status TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, due_at INTEGER NOT NULL,
    reason TEXT, by TEXT, news TEXT, signal TEXT NOT NULL
  )`,
  `CREATE INDEX sla_announcements_open ON sla_announcements (due_at, seq)
    WHERE status IN ('pending', 'approved', 'raised')`,
  "CREATE INDEX sla_announcements_clock ON sla_announcements (clock_id, seq)",
  // What the gateway saw and nobody has looked at yet.
  `CREATE TABLE sla_sights (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, conversation TEXT NOT NULL, data TEXT NOT NULL
  )`,
  "CREATE INDEX sla_sights_conversation ON sla_sights (conversation, seq)",
  `CREATE TABLE sla_cases (
    id TEXT PRIMARY KEY, conversation TEXT NOT NULL, ended_at INTEGER, closes_at INTEGER, data TEXT NOT NULL
  ) WITHOUT ROWID`,
  "CREATE UNIQUE INDEX sla_cases_open ON sla_cases (conversation) WHERE ended_at IS NULL",
  "CREATE INDEX sla_cases_closing ON sla_cases (closes_at) WHERE closes_at IS NOT NULL AND ended_at IS NULL",
  "CREATE INDEX sla_cases_ended ON sla_cases (ended_at) WHERE ended_at IS NOT NULL",
]);
