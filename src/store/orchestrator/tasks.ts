/** Tasks: each change is written over the version that it was made from, together with its entry in the history. */

import type { Task } from "../../domain/orchestrator/task.js";
import type { TaskEvent, TaskStore } from "../../domain/orchestrator/task-store.js";
import type { Connection } from "../connection.js";
import type { AddPending } from "../pending.js";
import { createTaskQueries } from "./task-queries.js";
import { eventOf, type TaskValues, valuesOf } from "./task-rows.js";

const COLUMNS =
  "version, status, priority, assign_to, mission_id, task_group, due_at, run_id, lease_owner, lease_until, ended_at, data";
const CHUNK = 500;

export function createTasks(connection: Connection, addPending: AddPending): TaskStore {
  const { database, read, write } = connection;
  const insert = database.prepare<[string, ...TaskValues]>(
    `INSERT INTO tasks (id, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  // The end of a lease that is not named stays as it was; without an owner it means nothing.
  const updateTo = (dueAt: "?" | "coalesce(due_at, ?)") =>
    database.prepare<[...TaskValues, string, number]>(
      `UPDATE tasks SET (${COLUMNS}) = (?, ?, ?, ?, ?, ?, ${dueAt}, ?, ?, coalesce(?, lease_until), ?, ?)
       WHERE id = ? AND version = ?`,
    );
  const update = updateTo("?");
  const updateKeepingDue = updateTo("coalesce(due_at, ?)");
  const insertEvent = database.prepare<[string, string, string]>(
    "INSERT INTO task_events (id, task_id, data) VALUES (?, ?, ?)",
  );
  const depend = database.prepare<[string, string]>("INSERT OR IGNORE INTO task_dependencies VALUES (?, ?)");
  const setDue = database.prepare<[number | null, string]>("UPDATE tasks SET due_at = ? WHERE id = ?");
  const renew = database.prepare<[number, string, string]>(
    "UPDATE tasks SET lease_until = ? WHERE id = ? AND run_id = ? AND lease_owner IS NOT NULL",
  );
  const old = database.prepare<[number, number], { id: string }>(
    `SELECT id FROM tasks WHERE ended_at < ? AND NOT EXISTS
       (SELECT 1 FROM missions WHERE missions.id = tasks.mission_id AND missions.ended_at IS NULL)
     ORDER BY ended_at LIMIT ?`,
  );
  const forget = ["tasks WHERE id", "task_events WHERE task_id", "task_dependencies WHERE task_id"].map((where) =>
    database.prepare<[string]>(`DELETE FROM ${where} = ?`),
  );
  const eventsOf = database.prepare<[string, number], { data: string }>(
    "SELECT data FROM (SELECT seq, data FROM task_events WHERE task_id = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq",
  );
  const note = (event: TaskEvent) => void insertEvent.run(event.id, event.taskId, JSON.stringify(event));
  const dependsOn = ({ id, dependsOn: ids }: Task) => {
    for (const other of ids ?? []) depend.run(other, id);
  };

  return {
    ...createTaskQueries(connection),
    events: (taskId, limit) => read(() => eventsOf.all(taskId, limit).map(eventOf)),
    insert: (task, event, timing, pending = []) =>
      write(() => {
        if (insert.run(task.id, ...valuesOf(task, timing)).changes === 0) return false;
        dependsOn(task);
        note(event);
        addPending(pending);
        return true;
      }),
    commit: (task, event, timing, pending = []) =>
      write(() => {
        const statement = timing.keepsDue ? updateKeepingDue : update;
        if (statement.run(...valuesOf(task, timing), task.id, task.version - 1).changes === 0) return false;
        note(event);
        addPending(pending);
        return true;
      }),
    setDue: (id, dueAt) => write(() => void setDue.run(dueAt ?? null, id)),
    renew: (id, runId, until) => write(() => renew.run(until, id, runId).changes === 1),
    async sweep(before) {
      let removed = 0;
      for (let some = CHUNK; some === CHUNK; removed += some)
        some = await write(() => {
          const ids = old.all(before, CHUNK);
          for (const { id } of ids) for (const statement of forget) statement.run(id);
          return ids.length;
        });
      return removed;
    },
  };
}
