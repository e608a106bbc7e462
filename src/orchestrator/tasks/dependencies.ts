/** How the tasks fare that a task waits for. */

import type { Task } from "../../domain/task.js";
import type { TaskStore } from "../../domain/task-store.js";

export type Dependencies = { kind: "done" } | { kind: "open" } | { kind: "failed"; task: Task };

export async function dependenciesOf({ dependsOn = [] }: Task, store: Pick<TaskStore, "get">): Promise<Dependencies> {
  let isOpen = false;
  for (const id of dependsOn) {
    const task = await store.get(id);
    // One that was swept away was over long ago, and done: else this one would have been blocked then.
    if (task === undefined || task.status === "done") continue;
    if (task.status === "failed" || task.status === "cancelled") return { kind: "failed", task };
    isOpen = true;
  }
  return isOpen ? { kind: "open" } : { kind: "done" };
}
