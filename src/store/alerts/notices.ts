/** Messages about alerts besides their cards: reminders, escalations. First it is decided which delivery sends them, then they are sent. */
import type { AlertStore, Notice, NoticeWords } from "../../domain/alerts/alert.js";
import type { Connection } from "../connection.js";
import { IS_EXCEPTION } from "../messages/delivery-rows.js";

const UNSETTLED_MAX = 1_000;

interface NoticeRecord {
  id: number;
  alert_id: string;
  destination: string;
  kind: Notice["kind"];
  key: string;
  words: string;
  mentions: string;
  due_at: number;
  delivery_id: string | null;
  sent_at: number | null;
}

type NoticeQueries = Pick<
  AlertStore,
  "notices" | "noticesDueAt" | "unsettledNotices" | "postedWith" | "lastNotices" | "idsIn" | "noticesWith" | "lostPages"
>;
type NoticeChanges = Pick<
  AlertStore,
  | "postponeNotices"
  | "assignNotices"
  | "removeNotices"
  | "noticesSent"
  | "requeueNotices"
  | "reviveNotices"
  | "settleNotices"
>;

export function createNoticeQueries({ database, read }: Connection): NoticeQueries {
  const waiting = database.prepare<[string, number], NoticeRecord>(
    `SELECT id, alert_id, destination, kind, key, words, mentions, due_at, delivery_id, sent_at FROM alert_notices
     WHERE destination = ? AND NOT is_sent ORDER BY id LIMIT ?`,
  );
  const dueAt = database.prepare<[string, number], NoticeRecord>(
    `SELECT id, alert_id, destination, kind, key, words, mentions, due_at, delivery_id, sent_at FROM alert_notices
     WHERE destination = ? AND due_at = ? AND (delivery_id IS NOT NULL OR NOT is_sent) ORDER BY id`,
  );
  const unsettled = database.prepare<[string, number], NoticeRecord>(
    `SELECT id, alert_id, destination, kind, key, words, mentions, due_at, delivery_id, sent_at FROM alert_notices
     WHERE destination = ? AND NOT is_settled AND is_sent ORDER BY id LIMIT ?`,
  );
  const postedWith = database.prepare<[string, string], NoticeRecord>(
    `SELECT id, alert_id, destination, kind, key, words, mentions, due_at, delivery_id, sent_at FROM alert_notices
     WHERE delivery_id IN (SELECT delivery_id FROM alert_notices WHERE alert_id = ? AND destination = ? AND is_sent
       AND delivery_id IS NOT NULL) ORDER BY id`,
  );
  const last = database.prepare<[string], NoticeRecord & { newest: number }>(
    `SELECT max(id) AS newest, id, alert_id, destination, kind, key, words, mentions, due_at, delivery_id, sent_at FROM alert_notices
     WHERE alert_id IN (SELECT id FROM alerts WHERE is_open) AND destination = ? AND is_settled AND delivery_id IS NOT NULL
     GROUP BY alert_id`,
  );
  const idsIn = database.prepare<[string], { id: string }>(
    "SELECT DISTINCT alert_id AS id FROM alert_notices WHERE delivery_id = ? ORDER BY id",
  );
  const withKey = database.prepare<[string, string, string, string], NoticeRecord>(
    `SELECT id, alert_id, destination, kind, key, words, mentions, due_at, delivery_id, sent_at FROM alert_notices
     WHERE alert_id = ? AND (key = ? OR (key >= ? AND key < ?)) ORDER BY id`,
  );
  const lostPages = database.prepare<[], NoticeRecord>(
    `SELECT id, alert_id, destination, kind, key, words, mentions, due_at, delivery_id, sent_at FROM alert_notices
     WHERE kind = 'escalation' AND delivery_id IN
       (SELECT id FROM deliveries WHERE ${IS_EXCEPTION} AND status IN ('dead', 'held')) ORDER BY id DESC LIMIT 100`,
  );
  return {
    notices: (destination, limit) => read(() => waiting.all(destination, limit).map(noticeOf)),
    noticesDueAt: (destination, at) => read(() => dueAt.all(destination, at).map(noticeOf)),
    unsettledNotices: (destination) => read(() => unsettled.all(destination, UNSETTLED_MAX).map(noticeOf)),
    postedWith: (alertId, destination) => read(() => postedWith.all(alertId, destination).map(noticeOf)),
    lastNotices: (destination) => read(() => last.all(destination).map(noticeOf)),
    idsIn: (deliveryId) => read(() => idsIn.all(deliveryId).map(({ id }) => id)),
    noticesWith: (alertId, key) => read(() => withKey.all(alertId, key, `${key}:`, `${key};`).map(noticeOf)),
    lostPages: () => read(() => lostPages.all().map(noticeOf)),
  };
}

export function createNoticeChanges({ database, write }: Connection): NoticeChanges {
  const postpone = database.prepare<[number, number]>(
    "UPDATE alert_notices SET due_at = ? WHERE id = ? AND NOT is_sent",
  );
  const assign = database.prepare<[string | null, number, number, number]>(
    "UPDATE alert_notices SET delivery_id = ?, is_sent = ?, is_settled = ? WHERE id = ? AND NOT is_sent",
  );
  const remove = database.prepare<[number]>("DELETE FROM alert_notices WHERE id = ? AND NOT is_sent");
  const sent = database.prepare<[number, number]>(
    "UPDATE alert_notices SET is_sent = 1, sent_at = coalesce(sent_at, ?) WHERE id = ?",
  );
  const requeue = database.prepare<[number]>(
    "UPDATE alert_notices SET is_sent = 0, delivery_id = NULL WHERE id = ? AND NOT is_settled",
  );
  const revive = database.prepare<[string], { destination: string }>(
    `UPDATE alert_notices SET is_sent = 0, is_settled = 0, delivery_id = NULL WHERE delivery_id = ? AND kind = 'escalation'
     RETURNING destination`,
  );
  const settle = database.prepare<[number]>("UPDATE alert_notices SET is_settled = 1 WHERE id = ?");
  return {
    postponeNotices: (ids, at) =>
      write(() => {
        for (const id of ids) postpone.run(at, id);
      }),
    assignNotices: (ids, deliveryId) =>
      write(() => {
        const isDropped = deliveryId === undefined ? 1 : 0;
        for (const id of ids) assign.run(deliveryId ?? null, isDropped, isDropped, id);
      }),
    removeNotices: (ids) =>
      write(() => {
        for (const id of ids) remove.run(id);
      }),
    noticesSent: (ids, now) =>
      write(() => {
        for (const id of ids) sent.run(now, id);
      }),
    requeueNotices: (ids) =>
      write(() => {
        for (const id of ids) requeue.run(id);
      }),
    reviveNotices: (deliveryId) =>
      write(() => [...new Set(revive.all(deliveryId).map(({ destination }) => destination))]),
    settleNotices: (ids) =>
      write(() => {
        for (const id of ids) settle.run(id);
      }),
  };
}

function noticeOf(row: NoticeRecord): Notice {
  return {
    id: row.id,
    alertId: row.alert_id,
    destination: row.destination,
    kind: row.kind,
    key: row.key,
    ...(JSON.parse(row.words) as NoticeWords),
    mentions: JSON.parse(row.mentions) as string[],
    dueAt: row.due_at,
    deliveryId: row.delivery_id ?? undefined,
    sentAt: row.sent_at ?? undefined,
  };
}
