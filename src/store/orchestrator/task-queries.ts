/** Looking at tasks: queries for people, and queries for the next work of the orchestrator. */

import type { Database } from "better-sqlite3";
import { TASK_STATUSES, type Task, type TaskStatus } from "../../domain/orchestrator/task.js";
import type { TaskFilter, TaskStore } from "../../domain/orchestrator/task-store.js";
import type { Connection } from "../connection.js";
import { type TaskRecord, taskOf } from "./task-rows.js";

type Queries = Pick<
  TaskStore,
  "get" | "isKnown" | "list" | "open" | "counts" | "due" | "nextDue" | "dependents" | "stale"
>;

/** The conditions of the partial indexes. The queries name the indexes: without statistics the planner takes the one over all states. */
const STARTED = "due_at IS NOT NULL AND status IN ('pending', 'assigned')";
const LOOKED_AT = "due_at IS NOT NULL AND status NOT IN ('pending', 'assigned')";
const OPEN = "status NOT IN ('done', 'failed', 'cancelled')";

export function createTaskQueries({ database, read }: Connection): Queries {
  const get = database.prepare<[string], TaskRecord>("SELECT data FROM tasks WHERE id = ?");
  const open = database.prepare<[string, number], TaskRecord>(
    `SELECT data FROM tasks WHERE seq > coalesce((SELECT seq FROM tasks WHERE id = ?), 0) AND ${OPEN} ORDER BY seq LIMIT ?`,
  );
  const counts = database.prepare<[], { status: TaskStatus; count: number }>(
    "SELECT status, count(*) AS count FROM tasks GROUP BY status",
  );
  const nextDue = database.prepare<[number], { at: number | null }>(
    "SELECT min(due_at) AS at FROM tasks WHERE due_at > ?",
  );
  const dependents = database.prepare<[string], { id: string }>(
    "SELECT task_id AS id FROM task_dependencies WHERE depends_on = ?",
  );
  const stale = database.prepare<[string], TaskRecord>(
    "SELECT data FROM tasks INDEXED BY tasks_leased WHERE lease_owner IS NOT NULL AND lease_owner <> ? AND status = 'in_progress'",
  );
  const dueTasks = createDueTasks(database);
  return {
    get: (id) =>
      read(() => {
        const row = get.get(id);
        return row && taskOf(row);
      }),
    isKnown: (id) => get.get(id) !== undefined,
    list: (filter) => read(() => listed(database, filter)),
    open: (afterId, limit) => read(() => open.all(afterId, limit).map(taskOf)),
    counts: () =>
      read(() => {
        const none = Object.fromEntries(TASK_STATUSES.map((status) => [status, 0])) as Record<TaskStatus, number>;
        return Object.assign(none, Object.fromEntries(counts.all().map(({ status, count }) => [status, count])));
      }),
    due: (now, without, roomFor, limit) => read(() => dueTasks(now, JSON.stringify(without), roomFor, limit)),
    nextDue: (now) => read(() => nextDue.get(now)?.at ?? undefined),
    dependents: (id) => read(() => dependents.all(id).map((one) => one.id)),
    stale: (owner) => read(() => stale.all(owner).map(taskOf)),
  };
}

/** Tasks to look at, then tasks to start: of each assignee as many as there is room for. */
function createDueTasks(database: Database) {
  const toLookAt = database.prepare<[number, string, number], TaskRecord>(
    `SELECT data FROM tasks INDEXED BY tasks_to_look_at WHERE due_at <= ? AND ${LOOKED_AT} AND id NOT IN (SELECT value FROM json_each(?))
     ORDER BY due_at LIMIT ?`,
  );
  // From one assignee to the next over the index, instead of reading every row.
  const assigneeAfter = database.prepare<[string], { name: string | null }>(
    `SELECT min(assign_to) AS name FROM tasks INDEXED BY tasks_to_start WHERE assign_to > ? AND ${STARTED}`,
  );
  const toStart = database.prepare<[string, number, string, number], TaskRecord>(
    `SELECT data FROM tasks INDEXED BY tasks_to_start WHERE assign_to = ? AND ${STARTED} AND due_at <= ?
       AND id NOT IN (SELECT value FROM json_each(?))
     ORDER BY priority DESC, seq LIMIT ?`,
  );
  return (now: number, without: string, roomFor: (assignTo: string) => number, limit: number): Task[] => {
    const looked = toLookAt.all(now, without, limit).map(taskOf);
    const started: Task[] = [];
    for (let name = assigneeAfter.get("")?.name; name; name = assigneeAfter.get(name)?.name) {
      const room = Math.min(roomFor(name), limit);
      if (room > 0) started.push(...toStart.all(name, now, without, room).map(taskOf));
    }
    // Within an assignee they are in order of creation; over all of them the sort keeps that for equal priorities.
    started.sort((a, b) => b.priority - a.priority || a.createdAt - b.createdAt);
    return [...looked, ...started].slice(0, limit);
  };
}

function listed(database: Database, { status, missionId, group, assignTo, text, before, limit }: TaskFilter): Task[] {
  const conditions: [sql: string, ...values: unknown[]][] = [];
  if (status !== undefined) conditions.push(["status IN (SELECT value FROM json_each(?))", JSON.stringify(status)]);
  if (missionId !== undefined) conditions.push(["mission_id = ?", missionId]);
  if (group !== undefined) conditions.push(["task_group = ?", group]);
  if (assignTo !== undefined) conditions.push(["assign_to = ?", assignTo]);
  if (text !== undefined) {
    const isFound = "(instr(lower(data ->> 'title'), lower(?)) OR instr(id, ?) OR lower(assign_to) = lower(?))";
    conditions.push([isFound, text, text, text]);
  }
  if (before !== undefined) conditions.push(["seq < (SELECT seq FROM tasks WHERE id = ?)", before]);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`;
  return database
    .prepare<unknown[], TaskRecord>(`SELECT data FROM tasks ${where} ORDER BY seq DESC LIMIT ?`)
    .all(...conditions.flatMap(([, ...values]) => values), limit)
    .map(taskOf);
}
