/** Who may have what is masked shown (`reveal=true`). */
import { rootOf } from "../src/domain/journal.js";
import type { CommandContext } from "../src/gateway/commands.js";
import type { CommandDeps } from "./deps.js";

/**
 * Admins; in the dispatches and messages of a task only who may hear what its runner said (`role` of the runner). `of`: the id of the
 * dispatch, and the cause of it or of the delivery.
 */
export async function needToReveal(
  { tasks }: CommandDeps,
  context: Pick<CommandContext, "need">,
  of: { id: string; cause?: { kind: string; id: string } | undefined },
): Promise<void> {
  context.need("admin");
  const ids = [rootOf(of.id), ...(of.cause?.kind === "task" ? [rootOf(of.cause.id)] : [])];
  for (const id of ids.filter((one) => one.startsWith("t_"))) {
    const task = await tasks?.store.get(id);
    if (task && tasks) context.need(tasks.roleToHear(task), "It shows what the runner of a task said.");
  }
}
