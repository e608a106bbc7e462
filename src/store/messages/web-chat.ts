/** The web chat's rooms and messages. A change to a message gets a new number; following the numbers is following the chat. */
import type { Database } from "better-sqlite3";
import type { Most, WebChatChange, WebChatMessage, WebChatStore, WebRoom } from "../../domain/store.js";
import type { Connection } from "../connection.js";

interface MessageRecord {
  id: number;
  room_id: string;
  thread_id: string | null;
  user_id: string | null;
  user_name: string | null;
  text: string;
  body: string | null;
  reply_to_id: number | null;
  visible_to: string | null;
  at: number;
  edited_at: number | null;
  deleted_at: number | null;
}
interface RoomRecord {
  id: string;
  name: string;
  is_dm: number;
  owner_id: string | null;
}
type NewMessage = [
  room: string,
  thread: string | null,
  userId: string | null,
  userName: string | null,
  text: string,
  body: string | null,
  replyTo: number | null,
  visibleTo: string | null,
  at: number,
  nonce: string,
];

const COLUMNS =
  "id, room_id, thread_id, user_id, user_name, text, body, reply_to_id, visible_to, at, edited_at, deleted_at";
const VISIBLE = "(@readerId IS NULL OR visible_to IS NULL OR visible_to = @readerId)";

export function createWebChat({ database, read, write }: Connection): WebChatStore {
  const statements = prepareStatements(database);

  const changeOf = (record: MessageRecord): WebChatChange => ({
    seq: Number(statements.addChange.run(record.id).lastInsertRowid),
    message: toMessage(record),
  });

  return {
    rooms: () => read(() => statements.rooms.all().map(toRoom)),
    saveRoom: ({ id, name, isDm, ownerId }) =>
      write(() => void statements.saveRoom.run(id, name, isDm ? 1 : 0, ownerId ?? null)),
    post: (message, nonce) =>
      write(() => {
        const { roomId, threadId, userId, userName, text, body, replyToId, visibleTo, at } = message;
        const { changes: added, lastInsertRowid } = statements.insert.run(
          roomId,
          threadId ?? null,
          userId ?? null,
          userName ?? null,
          text,
          body === undefined ? null : JSON.stringify(body),
          replyToId ?? null,
          visibleTo ?? null,
          at,
          nonce,
        );
        if (added > 0) {
          const seq = Number(statements.addChange.run(Number(lastInsertRowid)).lastInsertRowid);
          return { seq, message: { ...message, id: Number(lastInsertRowid) } };
        }
        const first = statements.byNonce.get(nonce);
        if (!first) throw new Error(`no message with nonce ${nonce}`);
        return { seq: statements.firstChange.get(first.id)?.seq ?? 0, message: toMessage(first) };
      }),
    edit: (id, { text, body, at }) =>
      write(() => {
        const record = statements.edit.get(text, body === undefined ? null : JSON.stringify(body), at ?? null, id);
        return record && changeOf(record);
      }),
    remove: (id, at, body) =>
      write(() => {
        const record = statements.remove.get(body === undefined ? null : JSON.stringify(body), at, id);
        return record && changeOf(record);
      }),
    get: (id) =>
      read(() => {
        const record = statements.byId.get(id);
        return record && toMessage(record);
      }),
    history: (roomId, { readerId, beforeId, ...most }) =>
      read(() => {
        const from = { roomId, readerId: readerId ?? null, beforeId: beforeId ?? Number.MAX_SAFE_INTEGER };
        const { records, more } = firstOf(statements.history.iterate({ ...from, rows: most.limit + 1 }), most);
        return { messages: records.map(toMessage).reverse(), more };
      }),
    newestId: (roomId, readerId) => read(() => statements.newest.get({ roomId, readerId })?.id),
    changesAfter: (seq, most) =>
      read(() => {
        const { records, more } = firstOf(statements.changes.iterate(seq, most.limit + 1), most);
        return { changes: records.map((record) => ({ seq: record.seq, message: toMessage(record) })), more };
      }),
    lastSeq: () => read(() => statements.lastSeq.get()?.seq ?? 0),
  };
}

/** Reads no more rows than it gives, and one more: a row can have many bytes. */
function firstOf<T extends MessageRecord>(rows: Iterable<T>, { limit, maxBytes = Number.POSITIVE_INFINITY }: Most) {
  const records: T[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += Buffer.byteLength(row.text) + Buffer.byteLength(row.body ?? "");
    if (records.length === limit || (records.length > 0 && bytes > maxBytes)) return { records, more: true };
    records.push(row);
  }
  return { records, more: false };
}

function toRoom({ id, name, is_dm, owner_id }: RoomRecord): WebRoom {
  return { id, name, isDm: is_dm === 1, ownerId: owner_id ?? undefined };
}

function toMessage(record: MessageRecord): WebChatMessage {
  return {
    id: record.id,
    roomId: record.room_id,
    text: record.text,
    at: record.at,
    threadId: record.thread_id ?? undefined,
    userId: record.user_id ?? undefined,
    userName: record.user_name ?? undefined,
    body: record.body === null ? undefined : JSON.parse(record.body),
    replyToId: record.reply_to_id ?? undefined,
    visibleTo: record.visible_to ?? undefined,
    editedAt: record.edited_at ?? undefined,
    deletedAt: record.deleted_at ?? undefined,
  };
}

function prepareStatements(database: Database) {
  return {
    rooms: database.prepare<[], RoomRecord>("SELECT id, name, is_dm, owner_id FROM web_rooms ORDER BY is_dm, name, id"),
    saveRoom: database.prepare<[string, string, number, string | null]>(
      `INSERT INTO web_rooms (id, name, is_dm, owner_id) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET name = excluded.name, is_dm = excluded.is_dm, owner_id = excluded.owner_id`,
    ),
    insert: database.prepare<NewMessage>(
      `INSERT INTO web_messages (room_id, thread_id, user_id, user_name, text, body, reply_to_id, visible_to, at, nonce)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    byNonce: database.prepare<[string], MessageRecord>(`SELECT ${COLUMNS} FROM web_messages WHERE nonce = ?`),
    firstChange: database.prepare<[number], { seq: number }>(
      "SELECT min(seq) AS seq FROM web_changes WHERE message_id = ?",
    ),
    addChange: database.prepare<[number]>("INSERT INTO web_changes (message_id) VALUES (?)"),
    byId: database.prepare<[number], MessageRecord>(`SELECT ${COLUMNS} FROM web_messages WHERE id = ?`),
    edit: database.prepare<[string, string | null, number | null, number], MessageRecord>(
      `UPDATE web_messages SET text = ?, body = ?, edited_at = coalesce(?, edited_at) WHERE id = ? AND deleted_at IS NULL RETURNING ${COLUMNS}`,
    ),
    // A deleted text is gone from the disk too; the row stays, so that pages learn of the deletion.
    remove: database.prepare<[string | null, number, number], MessageRecord>(
      `UPDATE web_messages SET text = '', body = ?, deleted_at = ? WHERE id = ? AND deleted_at IS NULL RETURNING ${COLUMNS}`,
    ),
    history: database.prepare<
      [{ roomId: string; readerId: string | null; beforeId: number; rows: number }],
      MessageRecord
    >(
      `SELECT ${COLUMNS} FROM web_messages
       WHERE room_id = @roomId AND id < @beforeId AND deleted_at IS NULL AND ${VISIBLE} ORDER BY id DESC LIMIT @rows`,
    ),
    newest: database.prepare<[{ roomId: string; readerId: string }], { id: number }>(
      `SELECT id FROM web_messages WHERE room_id = @roomId AND deleted_at IS NULL AND ${VISIBLE} ORDER BY id DESC LIMIT 1`,
    ),
    changes: database.prepare<[number, number], MessageRecord & { seq: number }>(
      `SELECT seq, ${COLUMNS} FROM web_changes JOIN web_messages ON web_messages.id = message_id
       WHERE seq > ? ORDER BY seq LIMIT ?`,
    ),
    lastSeq: database.prepare<[], { seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'web_changes'"),
  };
}
