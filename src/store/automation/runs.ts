/** Runs of configured hooks: stored once, taken by lease, ended once. */
import type { AutomationRun, AutomationRunStore } from "../../domain/automation.js";
import type { Connection } from "../connection.js";
import { createRunLeases } from "./run-leases.js";
import { createRunQueries } from "./run-queries.js";
import { type RunValues, valuesOf, WAITS } from "./run-rows.js";
import { createRunSweep } from "./run-sweep.js";

/** Writes a run inside the open transaction; false when its id is known. */
export type InsertRun = (run: AutomationRun, line?: string) => boolean;

export function createInsertRun({ database }: Connection): InsertRun {
  const insert = database.prepare<[string, string, number, string | null, ...RunValues]>(
    `INSERT INTO automation_runs
     (id, hook_id, created_at, line, status, attempt, repeatable, due_at, turn, started_at, ended_at, lease_owner, lease_until, data, pending)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  // A run that waits for another attempt holds up no other before it is due.
  const ahead = database.prepare<[string, string, number]>(
    `SELECT 1 FROM automation_runs WHERE hook_id = ? AND line = ? AND ${WAITS} AND turn <= ? LIMIT 1`,
  );
  return (run, line) => {
    const { id, hookId, createdAt, dueAt } = run;
    const isNext = line === undefined || ahead.get(hookId, line, dueAt) === undefined;
    const values = valuesOf(run, isNext ? dueAt : null);
    return insert.run(id, hookId, createdAt, line ?? null, ...values).changes === 1;
  };
}

export function createRuns(connection: Connection, insertRun: InsertRun): AutomationRunStore {
  const { database, write } = connection;
  const set = `UPDATE automation_runs SET status = ?, attempt = ?, repeatable = ?, due_at = ?, turn = ?, started_at = ?, ended_at = ?,
    lease_owner = ?, lease_until = ?, data = ?, pending = ? WHERE id = ?`;
  const update = database.prepare<[...RunValues, string]>(set);
  const updateHeld = database.prepare<[...RunValues, string, string]>(
    `${set} AND status = 'running' AND lease_owner = ?`,
  );
  return {
    ...createRunQueries(connection),
    ...createRunLeases(connection),
    sweep: createRunSweep(connection),
    insert: (run, line) => write(() => insertRun(run, line)),
    update(run, leaseOwner) {
      const values = valuesOf(run);
      return write(() => {
        const done =
          leaseOwner === undefined ? update.run(...values, run.id) : updateHeld.run(...values, run.id, leaseOwner);
        return done.changes === 1;
      });
    },
  };
}
