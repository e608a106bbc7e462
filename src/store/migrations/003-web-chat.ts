/** The platform side of the web chat: rooms, messages, and the sequence of changes that a page follows. */
import { migrationOf } from "../migrate.js";

export const webChat = migrationOf([
  `CREATE TABLE web_rooms (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, is_dm INTEGER NOT NULL, owner_id TEXT
  ) WITHOUT ROWID`,
  `CREATE TABLE web_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    room_id TEXT NOT NULL, thread_id TEXT, user_id TEXT, user_name TEXT,
    text TEXT NOT NULL, body TEXT,
    reply_to_id INTEGER, visible_to TEXT,
    at INTEGER NOT NULL, edited_at INTEGER, deleted_at INTEGER,
    nonce TEXT NOT NULL UNIQUE
  )`,
  "CREATE INDEX web_messages_room ON web_messages (room_id, id)",
  `CREATE TABLE web_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL REFERENCES web_messages (id) ON DELETE CASCADE
  )`,
  "CREATE INDEX web_changes_message ON web_changes (message_id)",
]);
