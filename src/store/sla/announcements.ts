/** The announcements of clocks, one row each: the progress of each is on disk before the next step. */
import type { NewAnnouncement, SlaAnnouncement, SlaSaidStatus, SlaStore } from "../../domain/alerts/sla.js";
import type { Connection } from "../connection.js";

interface Row {
  id: string;
  clock_id: string;
  episode: number;
  at: number;
  status: SlaSaidStatus;
  attempts: number;
  due_at: number;
  reason: string | null;
  by: string | null;
  news: string | null;
  signal: string;
}

const OPEN = "status IN ('pending', 'approved', 'raised')";

type Announcements = Pick<
  SlaStore,
  | "toAnnounce"
  | "nextAnnouncement"
  | "announcements"
  | "beginAnnouncement"
  | "updateAnnouncement"
  | "postpone"
  | "wasRaised"
> & { insert(announcement: NewAnnouncement, now: number): void };

/**
 * `insert` writes inside the transaction that is open; an id that exists is left alone. An announcement waits for those before it on its
 * clock.
 */
export function createAnnouncements({ database, read, write }: Connection): Announcements {
  const insert = database.prepare<[string, string, number, number, number, string | null, string, string]>(
    `INSERT INTO sla_announcements (id, clock_id, episode, at, status, due_at, news, signal)
     SELECT ?, ?, ?, ?, 'pending', max(?, ifnull(max(due_at), 0)), ?, ?
     FROM sla_announcements WHERE clock_id = ? AND ${OPEN} ON CONFLICT DO NOTHING`,
  );
  const open = database.prepare<[number, number], Row>(
    `SELECT * FROM sla_announcements INDEXED BY sla_announcements_open WHERE ${OPEN} AND due_at <= ? ORDER BY due_at, seq LIMIT ?`,
  );
  const next = database.prepare<[], { due_at: number }>(
    `SELECT due_at FROM sla_announcements INDEXED BY sla_announcements_open WHERE ${OPEN} ORDER BY due_at LIMIT 1`,
  );
  const ofClock = database.prepare<[string], Row>("SELECT * FROM sla_announcements WHERE clock_id = ? ORDER BY seq");
  const postpone = database.prepare<[number, string, string]>(
    `UPDATE sla_announcements SET due_at = max(due_at, ?), reason = ? WHERE ${OPEN} AND clock_id = ?`,
  );
  const begin = database.prepare<[string], { attempts: number }>(
    "UPDATE sla_announcements SET attempts = attempts + 1 WHERE id = ? RETURNING attempts",
  );
  const update = database.prepare<[SlaSaidStatus | null, string | null, string | null, string | null, string]>(
    `UPDATE sla_announcements SET status = ifnull(?, status), reason = ifnull(?, reason),
       by = ifnull(?, by), news = ifnull(?, news) WHERE id = ?`,
  );
  const raised = database.prepare<[string, number], { found: number }>(
    `SELECT 1 AS found FROM sla_announcements WHERE clock_id = ? AND episode = ? AND status NOT IN ('pending', 'vetoed')
       AND json_extract(signal, '$.state') <> 'resolved' LIMIT 1`,
  );
  return {
    insert: ({ id, clockId, episode, at, news, signal }, now) =>
      void insert.run(
        id,
        clockId,
        episode,
        at,
        now,
        news ? JSON.stringify(news) : null,
        JSON.stringify(signal),
        clockId,
      ),
    toAnnounce: (now, limit) => read(() => open.all(now, limit).map(toAnnouncement)),
    nextAnnouncement: () => read(() => next.get()?.due_at),
    announcements: (clockId) => read(() => ofClock.all(clockId).map(toAnnouncement)),
    beginAnnouncement: (id) => write(() => begin.get(id)?.attempts ?? 1),
    postpone: (clockId, dueAt, reason) => write(() => void postpone.run(dueAt, reason, clockId)),
    updateAnnouncement: (id, { status, reason, by, news }) =>
      write(() => void update.run(status ?? null, reason ?? null, by ?? null, news ? JSON.stringify(news) : null, id)),
    wasRaised: (clockId, episode) => read(() => raised.get(clockId, episode) !== undefined),
  };
}

function toAnnouncement(row: Row): SlaAnnouncement {
  return {
    id: row.id,
    clockId: row.clock_id,
    episode: row.episode,
    at: row.at,
    status: row.status,
    attempts: row.attempts,
    dueAt: row.due_at,
    reason: row.reason ?? undefined,
    by: row.by ?? undefined,
    news: row.news === null ? undefined : JSON.parse(row.news),
    signal: JSON.parse(row.signal),
  };
}
