/** The history of tasks. */
import type { TaskStore } from "../../domain/task-store.js";
import type { Connection } from "../connection.js";
import { eventOf } from "./task-rows.js";

export function createTaskEvents({ database, read }: Connection): Pick<TaskStore, "events"> {
  const ofTask = database.prepare<[string, number], { data: string }>(
    "SELECT data FROM (SELECT seq, data FROM task_events WHERE task_id = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq",
  );
  return { events: (taskId, limit) => read(() => ofTask.all(taskId, limit).map(eventOf)) };
}
