/** What is said about alerts besides their cards: reminders, escalations. Decided first which delivery says it, then sent. */
import type { AlertStore, Notice } from "../../domain/alert.js";
import type { Connection } from "../connection.js";

interface NoticeRecord {
  id: number;
  alert_id: string;
  destination: string;
  kind: Notice["kind"];
  key: string;
  text: string;
  mentions: string;
  due_at: number;
  delivery_id: string | null;
}

export function createNotices({
  database,
  read,
  write,
}: Connection): Pick<AlertStore, "notices" | "assignNotices" | "noticesSent"> {
  const waiting = database.prepare<[string, number], NoticeRecord>(
    `SELECT id, alert_id, destination, kind, key, text, mentions, due_at, delivery_id FROM alert_notices
     WHERE destination = ? AND NOT is_sent ORDER BY id LIMIT ?`,
  );
  const assign = database.prepare<[string | null, number, number]>(
    "UPDATE alert_notices SET delivery_id = ?, is_sent = ? WHERE id = ? AND NOT is_sent",
  );
  const sent = database.prepare<[number]>("UPDATE alert_notices SET is_sent = 1 WHERE id = ?");
  return {
    notices: (destination, limit) => read(() => waiting.all(destination, limit).map(noticeOf)),
    assignNotices: (ids, deliveryId) =>
      write(() => {
        for (const id of ids) assign.run(deliveryId ?? null, deliveryId === undefined ? 1 : 0, id);
      }),
    noticesSent: (ids) =>
      write(() => {
        for (const id of ids) sent.run(id);
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
    text: row.text,
    mentions: JSON.parse(row.mentions) as string[],
    dueAt: row.due_at,
    ...(row.delivery_id === null ? {} : { deliveryId: row.delivery_id }),
  };
}
