/** The state that a task's buttons are for: the one in which they show the task. */
import type { Task } from "./task.js";

/** The entry in the history of a task that stays in review and is judged again. */
export const JUDGED_AGAIN = "judge it again";

const ANY_STATE: ReadonlySet<string> = new Set(["cancel", "pause", "ask"]);

/** A press does nothing once the task has left the state that the button is drawn for; buttons that stop the task work in any state. */
export function lineFor(action: string, task: Task): string {
  return `/task ${action} ${task.id}${ANY_STATE.has(action) ? "" : ` expected=${stateSince(task)}`}`;
}

/**
 * The time since which the task is in the state that its buttons are for. Notes and deadlines do not change it, so that they make no other
 * card.
 */
export const stateSince = ({ changedAt, hold }: Task): number => Math.max(changedAt, hold?.at ?? 0);
