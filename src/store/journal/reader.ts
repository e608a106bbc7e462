/** Reads the journal's file through a connection of its own, beside the thread that writes it. */
import type { Database, Statement } from "better-sqlite3";
import type { DispatchFilter, DispatchRecord, HookStats, Journal, Outcome } from "../../domain/journal.js";
import { storeError } from "../errors.js";
import { addHistogram, type Histogram, percentile } from "./histogram.js";
import { HOUR_MS } from "./hook-stats-writer.js";
import { unpackDispatch } from "./pack.js";

export type JournalReader = Pick<Journal, "get" | "getByRun" | "list"> & {
  stats(now: number): Promise<Map<string, HookStats>>;
};

interface RecordRow {
  record: string;
}

export function createJournalReader(database: Database, file: string): JournalReader {
  const byId = database.prepare<[string], RecordRow>("SELECT record FROM dispatches WHERE id = ? ORDER BY n DESC");
  const byForeignRun = database.prepare<[string], RecordRow>(
    "SELECT record FROM foreign_runs JOIN dispatches USING (n) WHERE run_id = ? ORDER BY n DESC LIMIT 1",
  );
  const list = createList(database);
  const stats = createStats(database);
  const read = async <T>(job: () => T): Promise<T> => {
    try {
      return job();
    } catch (thrown) {
      throw storeError(thrown, file);
    }
  };
  return {
    get: (id) => read(() => parse(byId.get(id))),
    getByRun: (runId) =>
      read(() => {
        const dispatchId = runId.slice(0, Math.max(0, runId.lastIndexOf("/")));
        for (const row of byId.iterate(dispatchId)) {
          const dispatch = parse(row);
          if (dispatch?.runs.some((run) => run.id === runId)) return dispatch;
        }
        return parse(byForeignRun.get(runId));
      }),
    list: (filter) => read(() => list(filter)),
    stats: (now) => read(() => stats(now)),
  };
}

function parse(row: RecordRow | undefined): DispatchRecord | undefined {
  return row && unpackDispatch(row.record);
}

/** A message's own dispatches are few: they are found by message, and hooks looked for among them. Else by hook. */
function createList(database: Database) {
  const statements = new Map<string, Statement<(string | number)[], RecordRow>>();
  const newestWith = database.prepare<[string], { n: number | null }>(
    "SELECT max(n) AS n FROM dispatches WHERE id = ?",
  );

  return ({
    hookId,
    point,
    conversation,
    messageId,
    outcome,
    failed,
    before,
    limit,
  }: DispatchFilter): DispatchRecord[] => {
    const conditions: string[] = [];
    const values: (string | number)[] = [];
    const where = (condition: string, value: string | number): void => {
      conditions.push(condition);
      values.push(value);
    };
    let from = "dispatches d";
    if (hookId !== undefined) {
      const hook = "(SELECT id FROM names WHERE name = ?)";
      if (messageId === undefined) {
        // CROSS JOIN keeps this order: https://www.sqlite.org/optoverview.html#crossjoin
        from = "hook_dispatches h CROSS JOIN dispatches d ON d.n = h.n";
        where(`h.hook = ${hook}`, hookId);
      } else where(`EXISTS (SELECT 1 FROM hook_dispatches h WHERE h.hook = ${hook} AND h.n = d.n)`, hookId);
    }
    if (messageId !== undefined) where("d.message_id = ?", messageId);
    if (conversation !== undefined) where("d.conversation = ?", conversation);
    if (point !== undefined) where("d.point = (SELECT id FROM names WHERE name = ?)", point);
    if (outcome !== undefined)
      where(outcome === "passed" ? "d.outcome = ?" : "d.outcome <> 'passed' AND d.outcome = ?", outcome);
    if (failed) conditions.push("d.failed = 1");
    if (before !== undefined) where("d.n < ?", newestWith.get(before)?.n ?? 0);
    const sql = `SELECT d.record FROM ${from} ${conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""}
      ORDER BY ${from === "dispatches d" ? "d.n" : "h.n"} DESC LIMIT ?`;
    const statement = statements.get(sql) ?? database.prepare<(string | number)[], RecordRow>(sql);
    statements.set(sql, statement);
    return statement.all(...values, limit).flatMap((row) => parse(row) ?? []);
  };
}

/** The last 24 h by whole hours: what is counted is between 24 and 25 hours. */
function createStats(database: Database) {
  const totals = database.prepare<[], { hookId: string; fires: number; lastAt: number; lastOutcome: Outcome }>(
    `SELECT name AS hookId, fires, last_at AS lastAt, last_outcome AS lastOutcome
     FROM hook_totals JOIN names ON names.id = hook ORDER BY name`,
  );
  const hours = database.prepare<[number], { hookId: string; fires: number; failures: number; latencies: string }>(
    `SELECT name AS hookId, fires, failures, latencies FROM hook_hours JOIN names ON names.id = hook WHERE hour >= ?`,
  );
  return (now: number): Map<string, HookStats> => {
    const stats = new Map<string, HookStats>();
    for (const { hookId, fires, lastAt, lastOutcome } of totals.all())
      stats.set(hookId, { hookId, lastFiredAt: lastAt, lastOutcome, fires: 0, failures: 0, totalFires: fires });
    const latencies = new Map<string, Histogram>();
    for (const hour of hours.all(Math.floor(now / HOUR_MS) - 24)) {
      const hook = stats.get(hour.hookId);
      if (!hook) continue;
      hook.fires += hour.fires;
      hook.failures += hour.failures;
      const sum = latencies.get(hour.hookId) ?? {};
      addHistogram(sum, JSON.parse(hour.latencies));
      latencies.set(hour.hookId, sum);
    }
    for (const [hookId, histogram] of latencies) {
      const hook = stats.get(hookId);
      const p95Ms = percentile(histogram, 0.95);
      if (hook && p95Ms !== undefined) hook.p95Ms = p95Ms;
    }
    return stats;
  };
}
