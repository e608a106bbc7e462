/** What the buttons of a task are for: the state in which they show it. */
import type { Task } from "./task.js";

/** The entry in the history of a task that stays in review and is judged once more. */
export const JUDGED_AGAIN = "judge it again";

const ANY_STATE: ReadonlySet<string> = new Set(["cancel", "pause", "ask"]);

/** Its press does nothing once the task has left the state that it is drawn for; what stops the task does so in any state. */
export function lineFor(action: string, task: Task): string {
  return `/task ${action} ${task.id}${ANY_STATE.has(action) ? "" : ` expected=${stateSince(task)}`}`;
}

/** Since when it is as its buttons take it. Notes and deadlines leave it as it is, so that they make no other card. */
export const stateSince = ({ changedAt, hold }: Task): number => Math.max(changedAt, hold?.at ?? 0);
