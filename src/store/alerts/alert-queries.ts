/** The queries of alerts: single ones, lists, counts, the history, and those that are due. */
import type { Alert, AlertEvent, AlertFilter, AlertState, AlertStore } from "../../domain/alerts/alert.js";
import type { Connection } from "../connection.js";
import { type AlertRecord, alertOf } from "./rows.js";

/** Rows of the history of one alert that are read. */
const HISTORY_MAX = 200;

interface CountRow {
  state: AlertState | "postponed";
  rows: number;
}

/** States are counted as `isPostponed` decides. */
const COUNTED = `SELECT iif(state = 'resolved' AND json_extract(data, '$.signal.state') = 'resolved'
  AND json_extract(data, '$.signal.clock.isPostponed'), 'postponed', state) AS state, count(*) AS rows FROM alerts`;

type Lookups = Pick<AlertStore, "get" | "latest" | "openWith" | "list">;

export function createAlertLookups({ database, read }: Connection): Lookups {
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

  const records = ({ open: isOpenOnly, assignees, cardId, since, afterId, limit }: AlertFilter): AlertRecord[] => {
    if (cardId !== undefined)
      return afterId === undefined ? onCard.all(cardId, limit) : onCardAfter.all(cardId, afterId, limit);
    if (afterId !== undefined) return openAfter.all(afterId, limit);
    if (assignees !== undefined) return openOf.all(JSON.stringify(assignees), limit);
    return isOpenOnly ? open.all(limit) : all.all(since ?? 0, limit);
  };

  return {
    get: (id) => read(() => maybe(byId.get(id))),
    latest: (fingerprint) => read(() => maybe(newest.get(fingerprint))),
    openWith: (prefix) => read(() => openWith.all(prefix, `${prefix}\u{10ffff}`).map(alertOf)),
    list: (filter) =>
      read(() => {
        const found = records(filter).map(alertOf);
        const { states } = filter;
        return states === undefined ? found : found.filter(({ state }) => states.includes(state));
      }),
  };
}

/** For people: how many alerts there are in each state, and the history of one. */
export function createAlertReports({ database, read }: Connection): Pick<AlertStore, "counts" | "history"> {
  const countAll = database.prepare<[], CountRow>(`${COUNTED} GROUP BY 1`);
  const countOnCard = database.prepare<[string], CountRow>(
    `${COUNTED} WHERE id IN (SELECT alert_id FROM alert_places WHERE card_id = ?) GROUP BY 1`,
  );
  const events = database.prepare<[string, number], EventRecord>(
    `SELECT * FROM (SELECT * FROM alert_history WHERE alert_id = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq`,
  );
  return {
    counts: ({ cardId }) =>
      read(() => {
        const rows = cardId === undefined ? countAll.all() : countOnCard.all(cardId);
        return Object.fromEntries(rows.map(({ state, rows: count }) => [state, count]));
      }),
    history: (id) => read(() => events.all(id, HISTORY_MAX).map(eventOf)),
  };
}

export function createDueAlerts({ database, read }: Connection): Pick<AlertStore, "due" | "nextDue"> {
  const due = database.prepare<[number, number, number], { id: string }>(
    "SELECT id FROM alerts WHERE next_at IS NOT NULL AND next_at <= ? ORDER BY next_at LIMIT ? OFFSET ?",
  );
  const nextDue = database.prepare<[number], { at: number | null }>(
    "SELECT min(next_at) AS at FROM alerts WHERE next_at IS NOT NULL AND next_at > ?",
  );
  return {
    due: (now, limit, offset = 0) => read(() => due.all(now, limit, offset).map(({ id }) => id)),
    nextDue: (after = 0) => read(() => nextDue.get(after)?.at ?? undefined),
  };
}

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
