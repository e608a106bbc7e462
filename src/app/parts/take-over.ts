/**
 * A person who takes an alert is assigned the conversation or task that it is about, where that waits for a person: a conversation, and a
 * task that another person was asked for and has not started. Work that another person has started is not reassigned: then only the alert
 * is theirs, and the answer shows that.
 */
import type { SlaDesk } from "../../alerts/sla/desk.js";
import type { Actor, Alert } from "../../domain/alerts/alert.js";
import { hasRole, type Role } from "../../domain/chat/identity.js";
import { isEnded, type Task } from "../../domain/orchestrator/task.js";
import type { Store } from "../../domain/store.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import type { Orchestrator } from "../../orchestrator/orchestrator.js";

interface Deps {
  sla: Pick<SlaDesk, "claim">;
  store: Pick<Store, "tasks">;
  orchestrator: Pick<Orchestrator, "assign">;
  /** The role that the task needs because of everyone who had it: to read the texts about it, and to assign it. */
  roleToHear(task: Task): Role;
  /** The name that people use for an account `platform:id`. */
  nameOf(ref: string): string | undefined;
}

/** The result, in words for the person who took it. */
export async function takeOver(
  { signal }: Alert,
  by: Actor & { role?: Role | undefined },
  deps: Deps,
): Promise<string | undefined> {
  const { entity } = signal;
  switch (entity?.type) {
    case "conversation":
      return (await deps.sla.claim(entity.id, by.name)) ? "The conversation is yours, too." : undefined;
    case "task":
      return takeTask(entity.id, by, deps);
    default:
      return undefined;
  }
}

async function takeTask(id: string, by: Actor & { role?: Role | undefined }, deps: Deps): Promise<string | undefined> {
  const { store, orchestrator } = deps;
  const task = await store.tasks.get(id);
  if (task === undefined || isEnded(task.status)) return undefined;
  const theirs = `person:${by.id}`;
  if (task.assignTo === theirs) return undefined;
  const ref = task.assignTo.replace(/^person:/, "");
  const before = deps.nameOf(ref) ?? ref;
  const stays = `The task stays with ${before}`;
  const isWaiting = task.status === "draft" || task.status === "pending" || task.status === "assigned";
  if (!task.assignTo.startsWith("person:") || !isWaiting)
    return `${stays}; \`/task assign ${id} me\` assigns it to you.`;
  const needed = deps.roleToHear(task);
  if (!hasRole(by.role, needed))
    return `${stays}: a runner for the role ${needed} had it before, so only that role may assign it to another person.`;
  try {
    const came = await orchestrator.assign(id, theirs, { by: by.name === by.id ? by.id : `${by.id} (${by.name})` });
    if (came.kind === "moved") return `The task is yours, too; it was ${before}'s.`;
    return came.kind === "vetoed" ? `${stays}: ${came.by} refused: ${came.reason}` : undefined;
  } catch (error) {
    // The alert is theirs all the same.
    if (error instanceof HookgateError) return `${stays}: ${errorMessage(error)}`;
    throw error;
  }
}
