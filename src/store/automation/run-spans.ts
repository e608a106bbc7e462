/** The times and causes of runs, without reading the rest of their rows. */
import type { AutomationRunStore, RunSpan } from "../../domain/automation.js";
import type { Cause } from "../../domain/journal.js";
import type { Connection } from "../connection.js";
import { WAITS } from "./run-rows.js";

interface SpanRecord {
  id: string;
  hook_id: string;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  dispatch_id: string | null;
  cause: string | null;
}

/** A row that cannot be read stops nothing. A run that waits for another attempt has ended its last one. */
const SPAN = `SELECT id, hook_id, created_at, started_at,
  CASE WHEN status = 'running' THEN NULL WHEN json_valid(data) THEN coalesce(ended_at, data ->> '$.attempts[#-1].endedAt')
    ELSE ended_at END AS ended_at,
  CASE WHEN json_valid(data) THEN data ->> '$.dispatchId' END AS dispatch_id,
  CASE WHEN json_valid(data) THEN data -> '$.cause' END AS cause
  FROM automation_runs`;

export function createRunSpans({ database, read }: Connection): Pick<AutomationRunStore, "span" | "spans"> {
  const one = database.prepare<[string], SpanRecord>(`${SPAN} WHERE id = ?`);
  const running = database.prepare<[number, number], SpanRecord>(
    `${SPAN} WHERE status = 'running' AND started_at <= ? LIMIT ?`,
  );
  const waiting = database.prepare<[number, number], SpanRecord>(`${SPAN} WHERE ${WAITS} AND started_at <= ? LIMIT ?`);
  // Runs that ended next to the end of the given time come first.
  const ended = database.prepare<[number, number, number, number], SpanRecord>(
    `${SPAN} WHERE seq IN (SELECT seq FROM automation_runs WHERE ended_at >= ? AND started_at IS NOT NULL AND started_at <= ?
      ORDER BY abs(ended_at - ?) LIMIT ?)`,
  );
  return {
    span: (id) =>
      read(() => {
        const record = one.get(id);
        return record && spanOf(record);
      }),
    spans: (from, to, limit) =>
      read(() => [
        ...running.all(to, limit).map(spanOf),
        ...waiting
          .all(to, limit)
          .map(spanOf)
          .filter(({ endedAt }) => endedAt === undefined || endedAt >= from),
        ...ended.all(from, to, to, limit).map(spanOf),
      ]),
  };
}

function spanOf(record: SpanRecord): RunSpan {
  return {
    id: record.id,
    hookId: record.hook_id,
    createdAt: record.created_at,
    dispatchId: record.dispatch_id ?? undefined,
    cause: record.cause === null ? undefined : (JSON.parse(record.cause) as Cause),
    startedAt: record.started_at ?? undefined,
    endedAt: record.ended_at ?? undefined,
  };
}
