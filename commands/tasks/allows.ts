/** Whether somebody may do something to a task: asked of a button before its form is shown and before its press is answered. */
import { hasRole, type Operator } from "../../src/domain/identity.js";
import { isWorker, isWorkersTurn } from "./act.js";
import { type TaskDesk, textOf } from "./parts.js";

/** Of what any role may do; what a runner asks for besides is seen when it is done. */
export async function allowsTask(
  { store }: Pick<TaskDesk, "store">,
  operator: Operator,
  { action = "list", id }: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const isLooking = action === "list" || action === "show" || action === "add";
  if (hasRole(operator.role, isLooking ? "viewer" : "operator")) return true;
  const given = textOf(id);
  const task = given === undefined ? undefined : await store.get(given);
  // Whoever names no task is asked which of their own is meant.
  if (task === undefined) return given === undefined;
  return isWorker(task, operator) && (action === "show" || isWorkersTurn(task, String(action)));
}
