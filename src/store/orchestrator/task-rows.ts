/** A task as a row: columns for fields that queries use, JSON for all of it. */

import type { Task } from "../../domain/orchestrator/task.js";
import type { TaskEvent, TaskTiming } from "../../domain/orchestrator/task-store.js";

export interface TaskRecord {
  data: string;
}

/** The values that a change writes, in the order of the statement. */
export type TaskValues = [
  version: number,
  status: string,
  priority: number,
  assignTo: string,
  missionId: string | null,
  group: string | null,
  dueAt: number | null,
  runId: string | null,
  leaseOwner: string | null,
  leaseUntil: number | null,
  endedAt: number | null,
  data: string,
];

export function valuesOf(task: Task, { dueAt, leaseUntil }: TaskTiming): TaskValues {
  return [
    task.version,
    task.status,
    task.priority,
    task.assignTo,
    task.missionId ?? null,
    task.group ?? null,
    dueAt ?? null,
    task.run?.id ?? null,
    task.run?.owner ?? null,
    leaseUntil ?? null,
    task.endedAt ?? null,
    JSON.stringify(task),
  ];
}

export const taskOf = ({ data }: TaskRecord): Task => JSON.parse(data) as Task;

export interface EventRecord {
  data: string;
}

export const eventOf = ({ data }: EventRecord): TaskEvent => JSON.parse(data) as TaskEvent;
