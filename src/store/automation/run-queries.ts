/** Looking at runs: the history that operators see, and the facts that the gates need after a restart. */
import type { AutomationRunFilter, AutomationRunStore, BriefRun } from "../../domain/automation.js";
import type { Connection } from "../connection.js";
import { RUN_COLUMNS, type RunRecord, runOf, WAITS } from "./run-rows.js";
import { createRunSpans } from "./run-spans.js";

type Queries = Pick<
  AutomationRunStore,
  "get" | "ledTo" | "list" | "brief" | "started" | "waiting" | "waitingInLine" | "newestWaiting" | "span" | "spans"
>;

const BRIEF_COLUMNS = "id, hook_id AS hookId, status, created_at AS createdAt";
const EVER = Number.MAX_SAFE_INTEGER;

export function createRunQueries(connection: Connection): Queries {
  const { database, read } = connection;
  const get = database.prepare<[string], RunRecord>(`SELECT ${RUN_COLUMNS} FROM automation_runs WHERE id = ?`);
  const ledTo = database.prepare<[string, string, number], RunRecord>(
    `SELECT ${RUN_COLUMNS} FROM automation_runs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?`,
  );
  const started = database.prepare<[string, number], { at: number }>(
    "SELECT started_at AS at FROM automation_runs WHERE hook_id = ? AND started_at >= ? ORDER BY started_at",
  );
  const lastStarted = database.prepare<[string], { at: number | null }>(
    "SELECT max(started_at) AS at FROM automation_runs WHERE hook_id = ? AND started_at IS NOT NULL",
  );
  const waiting = database.prepare<[], { hookId: string; count: number }>(
    `SELECT hook_id AS hookId, count(*) AS count FROM automation_runs WHERE ${WAITS} GROUP BY hook_id`,
  );
  const inLine = database.prepare<[string, string], { count: number }>(
    `SELECT count(*) AS count FROM automation_runs WHERE hook_id = ? AND line = ? AND ${WAITS}`,
  );
  const newestWaiting = database.prepare<[string], RunRecord>(
    `SELECT ${RUN_COLUMNS} FROM automation_runs WHERE hook_id = ? AND ${WAITS} ORDER BY seq DESC LIMIT 1`,
  );
  const seq = database.prepare<[string], { seq: number }>("SELECT seq FROM automation_runs WHERE id = ?");
  const seqOf = (id: string | undefined) => (id === undefined ? EVER : (seq.get(id)?.seq ?? 0));
  const newest = <Row>(columns: string, { hookId, status, before, limit }: AutomationRunFilter): Row[] => {
    const statuses = status === undefined ? undefined : typeof status === "string" ? [status] : status;
    const conditions = ["seq < ?", ...(hookId === undefined ? [] : ["hook_id = ?"])];
    if (statuses) conditions.push("status IN (SELECT value FROM json_each(?))");
    const values = [
      seqOf(before),
      ...(hookId === undefined ? [] : [hookId]),
      ...(statuses ? [JSON.stringify(statuses)] : []),
      limit,
    ];
    return database
      .prepare<unknown[], Row>(
        `SELECT ${columns} FROM automation_runs WHERE ${conditions.join(" AND ")} ORDER BY seq DESC LIMIT ?`,
      )
      .all(...values);
  };

  return {
    ...createRunSpans(connection),
    get: (id) =>
      read(() => {
        const row = get.get(id);
        return row && runOf(row);
      }),
    // A semicolon comes next after a colon.
    ledTo: (root, limit) => read(() => ledTo.all(`${root}:`, `${root};`, limit).map(runOf)),
    list: (filter) => read(() => newest<RunRecord>(RUN_COLUMNS, filter).map(runOf)),
    brief: (filter) => read(() => newest<BriefRun>(BRIEF_COLUMNS, filter)),
    started: (hookId, since) =>
      read(() => {
        const last = lastStarted.get(hookId)?.at;
        return {
          at: started.all(hookId, since).map(({ at }) => at),
          lastStartedAt: typeof last === "number" ? last : undefined,
        };
      }),
    waiting: () => read(() => new Map(waiting.all().map(({ hookId, count }) => [hookId, count]))),
    waitingInLine: (hookId, line) => read(() => inLine.get(hookId, line)?.count ?? 0),
    newestWaiting: (hookId) =>
      read(() => {
        const row = newestWaiting.get(hookId);
        return row && runOf(row);
      }),
  };
}
