/** Alerts. A change of an alert is written in whole (row, history, places, notices, changes that its cards have to show) or not at all. */
import type { Alert, AlertEvent, AlertState, AlertStore } from "../../domain/alerts/alert.js";
import { noticeWords } from "../../domain/alerts/notice-words.js";
import type { Connection } from "../connection.js";
import { createCards } from "./cards.js";
import { createNotices } from "./notices.js";
import { type AlertRecord, type AlertValues, alertOf, valuesOf } from "./rows.js";
import { createSilences } from "./silences.js";

/** Rows deleted in one transaction. */
const CHUNK = 200;
/** Rows of the history of one alert that are read. */
const HISTORY_MAX = 200;

export function createAlertStore(connection: Connection): AlertStore {
  const { database, read, write } = connection;
  const insert = database.prepare<[string, string, number, ...AlertValues]>(
    `INSERT INTO alerts
     (id, fingerprint, episode, state, is_open, rank, assignee, raised_at, changed_at, ended_at, next_at, version, data)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const update = database.prepare<[number, ...AlertValues, string, number]>(
    `UPDATE alerts SET episode = ?, state = ?, is_open = ?, rank = ?, assignee = ?, raised_at = ?, changed_at = ?, ended_at = ?,
     next_at = ?, version = ?, data = ? WHERE id = ? AND version = ?`,
  );
  const addEvent = database.prepare<[string, number, string, string | null, string, string, string | null]>(
    "INSERT INTO alert_history (alert_id, at, event, from_state, to_state, actor, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const addPlace = database.prepare<[string, string, string, string, number]>(
    `INSERT INTO alert_places (alert_id, destination, group_key, kind, due_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET is_waiting = 1, group_key = excluded.group_key, kind = excluded.kind,
     due_at = excluded.due_at WHERE card_id IS NULL`,
  );
  const leaveCard = database.prepare<[string, string]>(
    `UPDATE alert_cards SET wanted = wanted + 1, is_closed = 0
     WHERE id = (SELECT card_id FROM alert_places WHERE alert_id = ? AND destination = ?)`,
  );
  const leave = database.prepare<[string, string, string]>(
    `UPDATE alert_places SET left_card = card_id, moved_to = ?, card_id = NULL, is_waiting = 0
     WHERE alert_id = ? AND destination = ?`,
  );
  const addNotice = database.prepare<[string, string, string, string, string, string, number]>(
    `INSERT INTO alert_notices (alert_id, destination, kind, key, words, mentions, due_at, is_settled)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
  );
  const redraw = database.prepare<[string]>(
    `UPDATE alert_cards SET wanted = wanted + 1, is_closed = 0
     WHERE id IN (SELECT card_id FROM alert_places WHERE alert_id = ? AND card_id IS NOT NULL)`,
  );
  /** The pages beside a card that the alert left show its state, too. */
  const redrawLeft = database.prepare<[string]>(
    `UPDATE alert_cards SET wanted = wanted + 1, is_closed = 0
     WHERE id IN (SELECT left_card FROM alert_places WHERE alert_id = ? AND left_card IS NOT NULL)`,
  );
  const byId = database.prepare<[string], AlertRecord>("SELECT data FROM alerts WHERE id = ?");
  const newest = database.prepare<[string], AlertRecord>(
    "SELECT data FROM alerts WHERE fingerprint = ? ORDER BY episode DESC LIMIT 1",
  );
  const openWith = database.prepare<[string, string], AlertRecord>(
    "SELECT data FROM alerts WHERE is_open AND fingerprint >= ? AND fingerprint < ? ORDER BY raised_at, id",
  );
  const open = database.prepare<[number], AlertRecord>(
    "SELECT data FROM alerts WHERE is_open ORDER BY rank DESC, raised_at, id LIMIT ?",
  );
  const openOf = database.prepare<[string, number], AlertRecord>(
    "SELECT data FROM alerts WHERE is_open AND assignee IN (SELECT value FROM json_each(?)) ORDER BY rank DESC, raised_at, id LIMIT ?",
  );
  const openAfter = database.prepare<[string, number], AlertRecord>(
    "SELECT data FROM alerts WHERE is_open AND id > ? ORDER BY id LIMIT ?",
  );
  const all = database.prepare<[number, number], AlertRecord>(
    "SELECT data FROM alerts WHERE max(changed_at, raised_at) >= ? ORDER BY is_open DESC, raised_at DESC LIMIT ?",
  );
  const onCard = database.prepare<[string, number], AlertRecord>(
    `SELECT data FROM alerts WHERE id IN (SELECT alert_id FROM alert_places WHERE card_id = ?)
     ORDER BY is_open DESC, rank DESC, raised_at DESC, episode DESC LIMIT ?`,
  );
  const onCardAfter = database.prepare<[string, string, number], AlertRecord>(
    `SELECT data FROM alerts WHERE id IN (SELECT alert_id FROM alert_places WHERE card_id = ?) AND is_open AND id > ?
     ORDER BY id LIMIT ?`,
  );
  const countAll = database.prepare<[], CountRow>(`${COUNTED} GROUP BY 1`);
  const countOnCard = database.prepare<[string], CountRow>(
    `${COUNTED} WHERE id IN (SELECT alert_id FROM alert_places WHERE card_id = ?) GROUP BY 1`,
  );
  const events = database.prepare<[string, number], EventRecord>(
    `SELECT * FROM (SELECT * FROM alert_history WHERE alert_id = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq`,
  );
  const due = database.prepare<[number, number, number], { id: string }>(
    "SELECT id FROM alerts WHERE next_at IS NOT NULL AND next_at <= ? ORDER BY next_at LIMIT ? OFFSET ?",
  );
  const nextDue = database.prepare<[number], { at: number | null }>(
    "SELECT min(next_at) AS at FROM alerts WHERE next_at IS NOT NULL AND next_at > ?",
  );
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
    ...createCards(connection),
    ...createNotices(connection),
    ...createSilences(connection),
    commit: (change) =>
      write(() => {
        const { alert, before } = change;
        const values = valuesOf(alert);
        const done =
          before === undefined
            ? insert.run(alert.id, alert.fingerprint, alert.episode, ...values)
            : update.run(alert.episode, ...values, alert.id, before);
        if (done.changes !== 1) return false;
        for (const { alertId, at, event, from, to, actor, reason } of change.events)
          addEvent.run(alertId, at, event, from ?? null, to, JSON.stringify(actor), reason ?? null);
        for (const { alertId, destination, group, kind, dueAt } of change.places)
          addPlace.run(alertId, destination, group, kind, dueAt);
        for (const { destination, movedTo } of change.left) {
          leaveCard.run(alert.id, destination);
          leave.run(JSON.stringify(movedTo), alert.id, destination);
        }
        for (const notice of change.notices) {
          const { alertId, destination, kind, key, mentions, dueAt } = notice;
          const words = JSON.stringify(noticeWords(notice));
          addNotice.run(alertId, destination, kind, key, words, JSON.stringify(mentions), dueAt);
        }
        if (change.redraw) redraw.run(alert.id);
        if (change.events.some(({ from, to }) => from !== to)) redrawLeft.run(alert.id);
        return true;
      }),
    get: (id) => read(() => maybe(byId.get(id))),
    latest: (fingerprint) => read(() => maybe(newest.get(fingerprint))),
    openWith: (prefix) => read(() => openWith.all(prefix, `${prefix}\u{10ffff}`).map(alertOf)),
    list: ({ open: isOpenOnly, assignees, cardId, since, afterId, states, limit }) =>
      read(() => {
        const rows =
          cardId !== undefined
            ? afterId === undefined
              ? onCard.all(cardId, limit)
              : onCardAfter.all(cardId, afterId, limit)
            : afterId !== undefined
              ? openAfter.all(afterId, limit)
              : assignees !== undefined
                ? openOf.all(JSON.stringify(assignees), limit)
                : isOpenOnly
                  ? open.all(limit)
                  : all.all(since ?? 0, limit);
        const found = rows.map(alertOf);
        return states === undefined ? found : found.filter(({ state }) => states.includes(state));
      }),
    counts: ({ cardId }) =>
      read(() => {
        const rows = cardId === undefined ? countAll.all() : countOnCard.all(cardId);
        return Object.fromEntries(rows.map(({ state, rows: count }) => [state, count]));
      }),
    history: (id) => read(() => events.all(id, HISTORY_MAX).map(eventOf)),
    due: (now, limit, offset = 0) => read(() => due.all(now, limit, offset).map(({ id }) => id)),
    nextDue: (after = 0) => read(() => nextDue.get(after)?.at ?? undefined),
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

interface CountRow {
  state: AlertState | "postponed";
  rows: number;
}

/** States are counted as `isPostponed` decides. */
const COUNTED = `SELECT iif(state = 'resolved' AND json_extract(data, '$.signal.state') = 'resolved'
  AND json_extract(data, '$.signal.clock.isPostponed'), 'postponed', state) AS state, count(*) AS rows FROM alerts`;

const maybe = (row: AlertRecord | undefined): Alert | undefined => row && alertOf(row);

interface EventRecord {
  alert_id: string;
  at: number;
  event: string;
  from_state: AlertState | null;
  to_state: AlertState;
  actor: string;
  reason: string | null;
}

function eventOf({ alert_id, at, event, from_state, to_state, actor, reason }: EventRecord): AlertEvent {
  return {
    alertId: alert_id,
    at,
    event,
    from: from_state ?? undefined,
    to: to_state,
    actor: JSON.parse(actor) as AlertEvent["actor"],
    reason: reason ?? undefined,
  };
}
