/** The history of tasks, and who is still to be told of it. */
import type { TaskStore } from "../../domain/task-store.js";
import type { Connection } from "../connection.js";
import { eventOf, taskOf } from "./task-rows.js";

export function createTaskEvents({
  database,
  read,
  write,
}: Connection): Pick<TaskStore, "events" | "untold" | "telling" | "told"> {
  const ofTask = database.prepare<[string, number], { data: string }>(
    "SELECT data FROM (SELECT seq, data FROM task_events WHERE task_id = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq",
  );
  const untold = database.prepare<[number, number], { seq: number; event: string; task: string; tries: number }>(
    `SELECT e.seq, e.data AS event, t.data AS task, e.tries FROM task_events e JOIN tasks t ON t.id = e.task_id
     WHERE e.told = 0 AND e.seq > ? ORDER BY e.seq LIMIT ?`,
  );
  const telling = database.prepare<[string]>("UPDATE task_events SET tries = tries + 1 WHERE id = ?");
  const told = database.prepare<[string]>("UPDATE task_events SET told = 1 WHERE id = ?");
  return {
    events: (taskId, limit) => read(() => ofTask.all(taskId, limit).map(eventOf)),
    untold: (limit, afterSeq = 0) =>
      read(() =>
        untold.all(afterSeq, limit).map(({ seq, event, task, tries }) => ({
          ...{ seq, tries },
          event: eventOf({ data: event }),
          task: taskOf({ data: task }),
        })),
      ),
    telling: (eventId) => write(() => void telling.run(eventId)),
    told: (eventId) => write(() => void told.run(eventId)),
  };
}
