/** What the commands about tasks drive and share. */
import type { Operator, Role } from "../../src/domain/identity.js";
import type { Actor, Task } from "../../src/domain/task.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Orchestrator } from "../../src/orchestrator/orchestrator.js";
import { badUsage, notFound } from "../answer.js";

export type TaskDesk = Pick<
  Orchestrator,
  | "store"
  | "create"
  | "begin"
  | "again"
  | "pause"
  | "cancel"
  | "refuse"
  | "assign"
  | "setDeadline"
  | "note"
  | "handIn"
  | "status"
  | "progressOf"
> & {
  /** Who may give this runner work. */
  roleFor(assignTo: string): Role;
  /** A question of whoever does a task, and words for them, as a message of its own. */
  pass(task: Task, text: string, from: "worker" | "others", id: string): Promise<boolean>;
};

export function needTasks({ tasks }: { tasks?: TaskDesk }): TaskDesk {
  if (tasks !== undefined) return tasks;
  throw new HookgateError({ code: "NOT_HERE", message: "Tasks are not available here." });
}

export async function needTask(desk: TaskDesk, given: unknown): Promise<Task> {
  const id = typeof given === "string" ? given.trim() : "";
  if (id === "") throw badUsage("Missing: the id of a task.", "/task list shows them.");
  const found = await desk.store.get(id);
  if (found) return found;
  const known = await desk.store.list({ limit: 200 });
  throw notFound(
    "task",
    id,
    known.map((one) => one.id),
    "/task list shows them.",
  );
}

export function personOf({ platform, userId, displayName }: Operator): string {
  return displayName === undefined ? `${platform}:${userId}` : `${platform}:${userId} (${displayName})`;
}

/** Who gave the command, with what it came from. */
export function actorOf({ operator, causeId }: CommandContext, reason?: string): Actor {
  return {
    by: personOf(operator),
    ...(reason === undefined || reason === "" ? {} : { reason }),
    cause: { kind: "command", id: causeId ?? "http", depth: 0 },
  };
}

export function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}
