/** Alerts: their states and history, where they are told, the cards and notices that tell them, and silences. */
import { migrationOf } from "../migrate.js";

export const alerts = migrationOf([
  // `data` is everything that is only read back; `rank` orders by severity.
  `CREATE TABLE alerts (
    id TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL, episode INTEGER NOT NULL,
    state TEXT NOT NULL, is_open INTEGER NOT NULL, rank INTEGER NOT NULL, assignee TEXT,
    raised_at INTEGER NOT NULL, changed_at INTEGER NOT NULL, ended_at INTEGER, next_at INTEGER,
    version INTEGER NOT NULL, data TEXT NOT NULL,
    UNIQUE (fingerprint, episode)
  ) WITHOUT ROWID`,
  "CREATE INDEX alerts_open ON alerts (rank DESC, raised_at, id) WHERE is_open",
  "CREATE INDEX alerts_due ON alerts (next_at) WHERE next_at IS NOT NULL",
  "CREATE INDEX alerts_ended ON alerts (ended_at) WHERE ended_at IS NOT NULL",
  `CREATE TABLE alert_history (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, alert_id TEXT NOT NULL, at INTEGER NOT NULL,
    event TEXT NOT NULL, from_state TEXT, to_state TEXT NOT NULL, actor TEXT NOT NULL, reason TEXT
  )`,
  "CREATE INDEX alert_history_of ON alert_history (alert_id, seq)",
  `CREATE TABLE alert_places (
    alert_id TEXT NOT NULL, destination TEXT NOT NULL, group_key TEXT NOT NULL, kind TEXT NOT NULL, due_at INTEGER NOT NULL,
    is_waiting INTEGER NOT NULL DEFAULT 1, card_id TEXT,
    PRIMARY KEY (alert_id, destination)
  ) WITHOUT ROWID`,
  "CREATE INDEX alert_places_waiting ON alert_places (destination, due_at) WHERE is_waiting",
  "CREATE INDEX alert_places_card ON alert_places (card_id) WHERE card_id IS NOT NULL",
  `CREATE TABLE alert_cards (
    id TEXT PRIMARY KEY, destination TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, group_key TEXT NOT NULL,
    delivery_id TEXT NOT NULL, is_posted INTEGER NOT NULL, wanted INTEGER NOT NULL, shown INTEGER NOT NULL,
    shown_at INTEGER NOT NULL, created_at INTEGER NOT NULL, unsettled TEXT, unsettled_since INTEGER, failed_at INTEGER,
    is_closed INTEGER NOT NULL, reminded_at INTEGER
  ) WITHOUT ROWID`,
  "CREATE INDEX alert_cards_key ON alert_cards (destination, kind, key, created_at)",
  "CREATE INDEX alert_cards_stale ON alert_cards (destination) WHERE shown < wanted",
  "CREATE INDEX alert_cards_unsettled ON alert_cards (destination) WHERE unsettled IS NOT NULL",
  "CREATE INDEX alert_cards_alone ON alert_cards (destination, group_key) WHERE NOT is_closed AND kind = 'alert'",
  `CREATE TABLE alert_notices (
    id INTEGER PRIMARY KEY AUTOINCREMENT, alert_id TEXT NOT NULL, destination TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    text TEXT NOT NULL, mentions TEXT NOT NULL, due_at INTEGER NOT NULL, delivery_id TEXT, is_sent INTEGER NOT NULL DEFAULT 0,
    UNIQUE (alert_id, destination, key)
  )`,
  "CREATE INDEX alert_notices_waiting ON alert_notices (destination, id) WHERE NOT is_sent",
  `CREATE TABLE alert_silences (
    id TEXT PRIMARY KEY, matchers TEXT NOT NULL, from_at INTEGER NOT NULL, until_at INTEGER NOT NULL, comment TEXT NOT NULL,
    by TEXT NOT NULL, ended_at INTEGER
  ) WITHOUT ROWID`,
]);
