/** Who may have what is masked shown (`reveal=true`). */
import { hasRole, highestRole, type Role } from "../src/domain/identity.js";
import { rootOf } from "../src/domain/journal.js";
import type { CommandContext } from "../src/gateway/commands.js";
import type { CommandDeps } from "./deps.js";

/** A dispatch, a delivery or a run. `id`: of the dispatch or delivery. */
export interface Revealed {
  id: string;
  cause?: { kind: string; id: string } | undefined;
  payload?: unknown;
}

/** Admins; of a task only who may hear what its runner said (`role` of the runner); of the answer to a command owners. */
export async function needToReveal(deps: CommandDeps, context: Pick<CommandContext, "need">, of: Revealed) {
  context.need("admin");
  context.need(await roleToRevealIn(deps, of), "It shows what the runner of a task said, or the answer to a command.");
}

/** Whether the reader may hear what the runner of the task said that this is about, if it is about one. */
export async function mayHearIn(deps: CommandDeps, { operator }: CommandContext, of: Revealed): Promise<boolean> {
  return hasRole(operator.role, await roleToRevealIn(deps, of));
}

async function roleToRevealIn({ tasks }: CommandDeps, { id, cause, payload }: Revealed): Promise<Role> {
  const inPayload = recordOf(payload);
  const told = recordOf(inPayload.task);
  const named = [rootOf(id), cause && rootOf(cause.id), inPayload.taskId, told.id];
  // The answer to a command of an owner may have what only an owner may read.
  const roles: [Role, ...Role[]] = [cause?.kind === "command" ? "owner" : "admin"];
  for (const one of new Set(named)) {
    if (tasks === undefined || typeof one !== "string" || !one.startsWith("t_")) continue;
    // Of a task that is gone or was never made, the payload may still know who had it. Otherwise it may have been anybody's.
    const task = (await tasks.store.get(one)) ?? [told, inPayload].find(isAssigned);
    roles.push(task === undefined ? "owner" : tasks.roleToHear(task));
  }
  return highestRole(roles);
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isAssigned(value: Record<string, unknown>): value is { assignTo: string; saidBy?: string[] } {
  const { assignTo, saidBy } = value;
  return typeof assignTo === "string" && (saidBy === undefined || Array.isArray(saidBy));
}
