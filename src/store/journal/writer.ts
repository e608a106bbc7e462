/** Writes the journal's file. Runs in the worker thread (or, for temporary databases, in the gateway's own). */
import type { Database } from "better-sqlite3";
import { storeError } from "../errors.js";
import { createHookStatsWriter } from "./hook-stats-writer.js";
import { unpackDispatch } from "./pack.js";
import type { JournalReply, JournalRequest, WriterFacts } from "./protocol.js";

const FAILURES = new Set<string>(["failed", "timed_out"]);
const SWEEP_ROWS = 1000;
const SESSION_MS = 7 * 24 * 3_600_000;

export interface JournalWriter {
  readonly lastBatch: number;
  handle(request: Exclude<JournalRequest, { kind: "close" }>): JournalReply;
}

export function createJournalWriter(database: Database, { file, session }: WriterFacts): JournalWriter {
  const lastBatch = database
    .prepare<[string], { batch: number }>("SELECT batch FROM batches WHERE session = ?")
    .get(session)?.batch;
  const insertDispatches = createInsertDispatches(database);
  const setBatch = database.prepare<[string, number, number]>(
    `INSERT INTO batches (session, batch, at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET batch = excluded.batch, at = excluded.at`,
  );
  const sweep = createSweepRows(database);

  return {
    lastBatch: lastBatch ?? 0,
    handle(request) {
      switch (request.kind) {
        case "write":
          try {
            insertDispatches(request.records, (lastAt) => setBatch.run(session, request.batch, lastAt));
            return { kind: "written", batch: request.batch };
          } catch (thrown) {
            const { code, message, hint } = storeError(thrown, file);
            return { kind: "refused", batch: request.batch, code, message, hint };
          }
        case "sweep":
          try {
            return { kind: "swept", id: request.id, ...sweep(request.before, request.maxRows) };
          } catch (thrown) {
            const { code, message } = storeError(thrown, file);
            return { kind: "sweep-failed", id: request.id, code, message };
          }
      }
    },
  };
}

/** One transaction for a batch; `alsoWrite` joins it. */
function createInsertDispatches(database: Database) {
  const names = createNames(database);
  const stats = createHookStatsWriter(database);
  const insert = database.prepare<[string, number, number, string, number, string | null, string | null, string]>(
    `INSERT INTO dispatches (id, point, at, outcome, failed, conversation, message_id, record)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const addHook = database.prepare<[number, number]>("INSERT OR IGNORE INTO hook_dispatches (hook, n) VALUES (?, ?)");
  const addRun = database.prepare<[string, number]>("INSERT OR IGNORE INTO foreign_runs (run_id, n) VALUES (?, ?)");

  const insertOne = (json: string): number => {
    const dispatch = unpackDispatch(json);
    const { id, point, at, outcome, conversation, messageId, runs } = dispatch;
    const failed = FAILURES.has(outcome) || runs.some((run) => FAILURES.has(run.outcome)) ? 1 : 0;
    const added = insert.run(id, names.idOf(point), at, outcome, failed, conversation ?? null, messageId ?? null, json);
    const n = Number(added.lastInsertRowid);
    for (const run of runs) {
      const hook = names.idOf(run.hookId);
      addHook.run(hook, n);
      if (!isNamedAfter(run.id, id)) addRun.run(run.id, n);
      if (!dispatch.dryRun && run.outcome !== "skipped") stats.add(hook, at, run, FAILURES.has(run.outcome));
    }
    return at;
  };

  return (records: readonly string[], alsoWrite: (lastAt: number) => void): void => {
    try {
      database.transaction(() => {
        let lastAt = 0;
        for (const json of records) lastAt = insertOne(json);
        stats.save();
        alsoWrite(lastAt);
      })();
    } catch (thrown) {
      // Rolled back: what is remembered of the rows may not be in them.
      names.forget();
      stats.forget();
      throw thrown;
    }
  };
}

/** The kernel names runs `<dispatch id>/<position>`: those are found through their dispatch. */
export function isNamedAfter(runId: string, dispatchId: string): boolean {
  return runId.startsWith(dispatchId) && runId.lastIndexOf("/") === dispatchId.length;
}

function createNames(database: Database) {
  const add = database.prepare<[string]>("INSERT OR IGNORE INTO names (name) VALUES (?)");
  const find = database.prepare<[string], { id: number }>("SELECT id FROM names WHERE name = ?");
  const known = new Map<string, number>();
  return {
    idOf(name: string): number {
      let id = known.get(name);
      if (id === undefined) {
        add.run(name);
        id = find.get(name)?.id ?? 0;
        known.set(name, id);
      }
      return id;
    },
    forget: () => known.clear(),
  };
}

/** Deletes some of the dispatches that are older than `before` or above `maxRows`, oldest first. Counts per hook stay. */
function createSweepRows(database: Database) {
  const newest = database.prepare<[], { n: number | null }>("SELECT max(n) AS n FROM dispatches");
  const oldest = database.prepare<[number], { n: number; at: number; record: string }>(
    "SELECT n, at, record FROM dispatches ORDER BY n LIMIT ?",
  );
  const remove = database.prepare<[number]>("DELETE FROM dispatches WHERE n = ?");
  const removeHook = database.prepare<[string, number]>(
    "DELETE FROM hook_dispatches WHERE hook = (SELECT id FROM names WHERE name = ?) AND n = ?",
  );
  const removeRun = database.prepare<[string, number]>("DELETE FROM foreign_runs WHERE run_id = ? AND n = ?");
  const removeHours = database.prepare<[number]>("DELETE FROM hook_hours WHERE hour < ?");
  const removeSessions = database.prepare<[number]>("DELETE FROM batches WHERE at < ?");

  const removeSome = database.transaction((before: number, keepFrom: number): number => {
    let removed = 0;
    for (const { n, at, record } of oldest.all(SWEEP_ROWS)) {
      if (at >= before && n >= keepFrom) break;
      const { id, runs } = unpackDispatch(record);
      for (const run of runs) {
        removeHook.run(run.hookId, n);
        if (!isNamedAfter(run.id, id)) removeRun.run(run.id, n);
      }
      remove.run(n);
      removed++;
    }
    return removed;
  });

  return (before: number, maxRows: number) => {
    const keepFrom = (newest.get()?.n ?? 0) - maxRows + 1;
    const dispatches = removeSome(before, keepFrom);
    const hours = removeHours.run(Math.floor(before / 3_600_000)).changes;
    removeSessions.run(before - SESSION_MS);
    return { removed: { dispatches, hook_hours: hours }, more: dispatches === SWEEP_ROWS };
  };
}
