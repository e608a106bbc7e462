/** Alerts. A change of an alert is written in whole (row, history, places, notices, changes that its cards have to show) or not at all. */
import type { Database } from "better-sqlite3";
import type { AlertStore } from "../../domain/alerts/alert.js";
import { noticeWords } from "../../domain/alerts/notice-words.js";
import type { Connection } from "../connection.js";
import { createAlertLookups, createAlertReports, createDueAlerts } from "./alert-queries.js";
import { createCardChanges, createCardQueries, createPlaces, createTakeBack } from "./cards.js";
import { createNoticeChanges, createNoticeQueries } from "./notices.js";
import { type AlertValues, valuesOf } from "./rows.js";
import { createSilences } from "./silences.js";

/** Rows deleted in one transaction. */
const CHUNK = 200;

export function createAlertStore(connection: Connection): AlertStore {
  return {
    ...createPlaces(connection),
    ...createCardQueries(connection),
    ...createCardChanges(connection),
    ...createTakeBack(connection),
    ...createNoticeQueries(connection),
    ...createNoticeChanges(connection),
    ...createSilences(connection),
    ...createAlertLookups(connection),
    ...createAlertReports(connection),
    ...createDueAlerts(connection),
    ...createCommit(connection),
    ...createSweep(connection),
  };
}

function createCommit({ database, write }: Connection): Pick<AlertStore, "commit"> {
  const statements = prepareCommit(database);
  return {
    commit: (change) =>
      write(() => {
        const { alert, before } = change;
        const values = valuesOf(alert);
        const done =
          before === undefined
            ? statements.insert.run(alert.id, alert.fingerprint, alert.episode, ...values)
            : statements.update.run(alert.episode, ...values, alert.id, before);
        if (done.changes !== 1) return false;
        for (const { alertId, at, event, from, to, actor, reason } of change.events)
          statements.addEvent.run(alertId, at, event, from ?? null, to, JSON.stringify(actor), reason ?? null);
        for (const { alertId, destination, group, kind, dueAt } of change.places)
          statements.addPlace.run(alertId, destination, group, kind, dueAt);
        for (const { destination, movedTo } of change.left) {
          statements.leaveCard.run(alert.id, destination);
          statements.leave.run(JSON.stringify(movedTo), alert.id, destination);
        }
        for (const notice of change.notices) {
          const { alertId, destination, kind, key, mentions, dueAt } = notice;
          const words = JSON.stringify(noticeWords(notice));
          statements.addNotice.run(alertId, destination, kind, key, words, JSON.stringify(mentions), dueAt);
        }
        if (change.redraw) statements.redraw.run(alert.id);
        if (change.events.some(({ from, to }) => from !== to)) statements.redrawLeft.run(alert.id);
        return true;
      }),
  };
}

function prepareCommit(database: Database) {
  return {
    insert: database.prepare<[string, string, number, ...AlertValues]>(
      `INSERT INTO alerts
       (id, fingerprint, episode, state, is_open, rank, assignee, raised_at, changed_at, ended_at, next_at, version, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    update: database.prepare<[number, ...AlertValues, string, number]>(
      `UPDATE alerts SET episode = ?, state = ?, is_open = ?, rank = ?, assignee = ?, raised_at = ?, changed_at = ?, ended_at = ?,
       next_at = ?, version = ?, data = ? WHERE id = ? AND version = ?`,
    ),
    addEvent: database.prepare<[string, number, string, string | null, string, string, string | null]>(
      "INSERT INTO alert_history (alert_id, at, event, from_state, to_state, actor, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ),
    addPlace: database.prepare<[string, string, string, string, number]>(
      `INSERT INTO alert_places (alert_id, destination, group_key, kind, due_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET is_waiting = 1, group_key = excluded.group_key, kind = excluded.kind,
       due_at = excluded.due_at WHERE card_id IS NULL`,
    ),
    leaveCard: database.prepare<[string, string]>(
      `UPDATE alert_cards SET wanted = wanted + 1, is_closed = 0
       WHERE id = (SELECT card_id FROM alert_places WHERE alert_id = ? AND destination = ?)`,
    ),
    leave: database.prepare<[string, string, string]>(
      `UPDATE alert_places SET left_card = card_id, moved_to = ?, card_id = NULL, is_waiting = 0
       WHERE alert_id = ? AND destination = ?`,
    ),
    addNotice: database.prepare<[string, string, string, string, string, string, number]>(
      `INSERT INTO alert_notices (alert_id, destination, kind, key, words, mentions, due_at, is_settled)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
    ),
    redraw: database.prepare<[string]>(
      `UPDATE alert_cards SET wanted = wanted + 1, is_closed = 0
       WHERE id IN (SELECT card_id FROM alert_places WHERE alert_id = ? AND card_id IS NOT NULL)`,
    ),
    /** The pages beside a card that the alert left show its state, too. */
    redrawLeft: database.prepare<[string]>(
      `UPDATE alert_cards SET wanted = wanted + 1, is_closed = 0
       WHERE id IN (SELECT left_card FROM alert_places WHERE alert_id = ? AND left_card IS NOT NULL)`,
    ),
  };
}

function createSweep({ database, write }: Connection): Pick<AlertStore, "sweep"> {
  const ended = database.prepare<[number, number], { id: string }>(
    "SELECT id FROM alerts WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at LIMIT ?",
  );
  const forget = ["alerts WHERE id", "alert_history WHERE alert_id", "alert_places WHERE alert_id"].map((rows) =>
    database.prepare<[string]>(`DELETE FROM ${rows} = ?`),
  );
  const forgetNotices = database.prepare<[string]>("DELETE FROM alert_notices WHERE alert_id = ?");
  const forgetCards = database.prepare(
    `DELETE FROM alert_cards WHERE is_closed AND id NOT IN (SELECT card_id FROM alert_places WHERE card_id IS NOT NULL
     UNION SELECT left_card FROM alert_places WHERE left_card IS NOT NULL)`,
  );
  return {
    async sweep(endedBefore) {
      let removed = 0;
      for (let some = CHUNK; some === CHUNK; removed += some)
        some = await write(() => {
          const ids = ended.all(endedBefore, CHUNK);
          for (const { id } of ids) {
            for (const statement of forget) statement.run(id);
            forgetNotices.run(id);
          }
          return ids.length;
        });
      if (removed > 0) await write(() => void forgetCards.run());
      return removed;
    },
  };
}
