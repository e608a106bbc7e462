/** The two queues, and what hangs on deliveries: platform messages, links between mirrored messages, action tokens, pauses. */
import { migrationOf } from "../migrate.js";

export const inboxAndOutbox = migrationOf([
  // Settled = `settled_at` is set. A partial index over what is unsettled stays small whatever the history.
  `CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    platform TEXT NOT NULL, bot TEXT NOT NULL, chat TEXT NOT NULL, event_id TEXT NOT NULL,
    lane TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    deferrals INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    settled_at INTEGER,
    outcome TEXT, claimed_by TEXT, error TEXT,
    event TEXT NOT NULL
  )`,
  // Message ids first, here and below: ids of one moment are neighbours over all chats, so a commit touches few pages.
  "CREATE UNIQUE INDEX inbox_event ON inbox (event_id, chat, bot, platform)",
  "CREATE INDEX inbox_open ON inbox (lane, id) WHERE settled_at IS NULL",
  "CREATE INDEX inbox_dead ON inbox (id) WHERE status = 'dead'",
  // Keys of rows that retention removed while the platform may still hand the event over again.
  `CREATE TABLE inbox_seen (
    chat TEXT NOT NULL, event_id TEXT NOT NULL, bot TEXT NOT NULL, platform TEXT NOT NULL,
    inbox_id INTEGER NOT NULL, received_at INTEGER NOT NULL,
    PRIMARY KEY (event_id, chat, bot, platform)
  ) WITHOUT ROWID`,
  "CREATE INDEX inbox_seen_age ON inbox_seen (received_at)",

  // `data` is everything that is only read back; `frozen` is the message after the hooks, empty when they left it as it was;
  // `parts` is the list of its requests (JSON): most deliveries have one, and one row is written quicker than two.
  `CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    conversation TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL, due_at INTEGER NOT NULL, expires_at INTEGER, settled_at INTEGER,
    target_id TEXT, reason TEXT,
    data TEXT NOT NULL, message TEXT, frozen TEXT, parts TEXT
  )`,
  "CREATE INDEX deliveries_open ON deliveries (conversation, seq) WHERE status IN ('waiting', 'sending')",
  `CREATE INDEX deliveries_exceptions ON deliveries (status, seq)
    WHERE status IN ('held', 'suppressed', 'cancelled', 'superseded', 'dead')`,
  "CREATE INDEX deliveries_target ON deliveries (target_id, seq) WHERE target_id IS NOT NULL",
  // The delivery that created a platform's message.
  `CREATE TABLE posted (
    message_id TEXT NOT NULL, chat TEXT NOT NULL, bot TEXT NOT NULL, platform TEXT NOT NULL, delivery INTEGER NOT NULL,
    PRIMARY KEY (message_id, chat, bot, platform)
  ) WITHOUT ROWID`,
  `CREATE TRIGGER deliveries_posted AFTER DELETE ON deliveries WHEN OLD.parts IS NOT NULL BEGIN
    DELETE FROM posted WHERE delivery = OLD.seq
      AND message_id IN (SELECT json_extract(value, '$.messageId') FROM json_each(OLD.parts));
  END`,

  `CREATE TABLE links (
    id INTEGER PRIMARY KEY,
    delivery_id TEXT NOT NULL, at INTEGER NOT NULL,
    origin_chat TEXT NOT NULL, origin_message TEXT NOT NULL, origin_bot TEXT NOT NULL, origin_platform TEXT NOT NULL,
    origin_thread TEXT,
    mirror_chat TEXT NOT NULL, mirror_message TEXT NOT NULL, mirror_bot TEXT NOT NULL, mirror_platform TEXT NOT NULL,
    mirror_thread TEXT
  )`,
  "CREATE INDEX links_origin ON links (origin_message, origin_chat, origin_bot, origin_platform)",
  "CREATE INDEX links_mirror ON links (mirror_message, mirror_chat, mirror_bot, mirror_platform)",

  `CREATE TABLE action_tokens (
    token TEXT PRIMARY KEY, delivery_id TEXT NOT NULL, action TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) WITHOUT ROWID`,
  "CREATE INDEX action_tokens_expiry ON action_tokens (expires_at)",
  "CREATE TABLE pauses (key TEXT PRIMARY KEY, until INTEGER NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID",
]);
