/** Runs of operator-defined hooks: stored once, taken by lease, ended once. */
import type { AutomationRun, AutomationRunStore } from "../../domain/automation.js";
import type { Connection } from "../connection.js";
import { createRunLeases } from "./run-leases.js";
import { createRunQueries } from "./run-queries.js";
import { type RunValues, valuesOf } from "./run-rows.js";
import { createRunSweep } from "./run-sweep.js";

/** Writes a run inside the open transaction; false when its id is known. */
export type InsertRun = (run: AutomationRun) => boolean;

export function createInsertRun({ database }: Connection): InsertRun {
  const insert = database.prepare<[string, string, number, ...RunValues]>(
    `INSERT INTO automation_runs
     (id, hook_id, created_at, status, attempt, repeatable, due_at, started_at, ended_at, lease_owner, lease_until, data, pending)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  return (run) => insert.run(run.id, run.hookId, run.createdAt, ...valuesOf(run)).changes === 1;
}

export function createRuns(connection: Connection, insertRun: InsertRun): AutomationRunStore {
  const { database, write } = connection;
  const set = `UPDATE automation_runs SET status = ?, attempt = ?, repeatable = ?, due_at = ?, started_at = ?, ended_at = ?,
    lease_owner = ?, lease_until = ?, data = ?, pending = ? WHERE id = ?`;
  const update = database.prepare<[...RunValues, string]>(set);
  const updateHeld = database.prepare<[...RunValues, string, string]>(
    `${set} AND status = 'running' AND lease_owner = ?`,
  );
  return {
    ...createRunQueries(connection),
    ...createRunLeases(connection),
    sweep: createRunSweep(connection),
    insert: (run) => write(() => insertRun(run)),
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
