/**
 * The roles that may read messages that quote a text. A runner's output is for those who may give it work. The answer to a command is for
 * owners, because it may hold texts that only an owner may read. Other texts are for operators.
 */

import type { About, RoleToHear } from "../domain/chat/hearing.js";
import { highestRole, type Role } from "../domain/chat/identity.js";
import { type Cause, rootOf } from "../domain/journal.js";
import { MAX_TASKS_OF_MISSION } from "../domain/orchestrator/plan.js";
import type { Task } from "../domain/orchestrator/task.js";
import type { TaskStore } from "../domain/orchestrator/task-store.js";
import type { OutboxStore } from "../domain/store.js";

interface Deps {
  tasks: Pick<TaskStore, "get" | "list">;
  outbox: Pick<OutboxStore, "get">;
  roleOfTask(task: Pick<Task, "assignTo" | "earlierAssignees">): Role;
}

/** A message that a hook answered with another one, and so on: loops are cut before. */
const MAX_DEPTH = 20;

export function createRoleToHear(deps: Deps): RoleToHear {
  return async (of) => {
    // A record of the journal unpacks its payload each time that it is asked for it.
    const { payload: given } = of;
    const payload = recordOf(given);
    const messages = await messagesBehind(of, payload, deps);
    if (messages === "unknown" || messages.some(isAnswer)) return "owner";
    return roleOfWork([of, ...messages], payload, given !== undefined, deps);
  };
}

const isAnswer = ({ id, cause }: About) => cause?.kind === "command" && id.startsWith("d_");

/** The deliveries that this is about, or that led to it: a message that a hook posts may quote the message that started it. */
async function messagesBehind(
  of: About,
  payload: Record<string, unknown>,
  { outbox }: Pick<Deps, "outbox">,
): Promise<About[] | "unknown"> {
  const { deliveryId } = payload;
  const { kind, id } = recordOf(payload.cause);
  const isMessage = typeof deliveryId === "string" && typeof kind === "string" && typeof id === "string";
  // A payload that was fired by hand still names the message that it is about.
  const cause = isMessage ? { kind: kind as Cause["kind"], id } : of.cause;
  const found: About[] = [{ id: rootOf(isMessage ? deliveryId : of.id), cause }];
  const read = new Set<string>();
  for (let last = found[0]; last !== undefined && read.size < MAX_DEPTH; last = found.at(-1)) {
    const next = rootOf(last.cause?.id ?? last.id);
    if (!next.startsWith("d_") || read.has(next)) break;
    read.add(next);
    const delivery = await outbox.get(next);
    // The delivery was deleted, and no record shows its cause.
    if (delivery === undefined && last.cause === undefined) return "unknown";
    if (delivery === undefined) break;
    found.push({ id: delivery.id, cause: delivery.cause });
  }
  return found;
}

async function roleOfWork(
  about: readonly About[],
  payload: Record<string, unknown>,
  hasPayload: boolean,
  { tasks, roleOfTask }: Deps,
): Promise<Role> {
  const roles: [Role, ...Role[]] = ["operator"];
  const records = [payload, ...[payload.tasks, recordOf(payload.report).tasks].flatMap(recordsIn)];
  const own = recordOf(payload.task);
  const given = [payload.missionId, own.id, ...records.map(({ taskId }) => taskId)];
  const named = new Set([
    ...about.flatMap(({ id, cause }) => [...workIn(id), ...workIn(cause?.id)]),
    ...given.filter((one) => typeof one === "string"),
  ]);
  for (const one of named) {
    if (one.startsWith("m_")) {
      const ofMission = await tasks.list({ missionId: one, limit: MAX_TASKS_OF_MISSION });
      // A message about a mission that is gone may quote anybody.
      if (ofMission.length === 0 && !hasPayload) roles.push("owner");
      roles.push(...ofMission.map(roleOfTask));
    }
    if (!one.startsWith("t_")) continue;
    // The payload may still know who had a task that is gone or was never made. Otherwise anybody may have had it.
    const known = [own, ...records.filter(({ taskId }) => taskId === one)];
    const task = (await tasks.get(one)) ?? known.find(isAssigned);
    roles.push(task === undefined ? "owner" : roleOfTask(task));
  }
  return highestRole(roles);
}

/**
 * The task or mission that the id of a dispatch, or of a run in it, is made of: `t_…:3:task:complete`, `m_…_completed`,
 * `assess_t_…_1_run`.
 */
function workIn(id = ""): string[] {
  const root = rootOf(id);
  return [
    root,
    ...(/^m_[0-9a-z]+/.exec(root) ?? []),
    ...(/^assess_(t_\w+?)_\d+_(?:run|complete)/.exec(root)?.slice(1) ?? []),
  ];
}

function recordsIn(value: unknown): Record<string, unknown>[] {
  return (Array.isArray(value) ? value : []).map(recordOf);
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isAssigned(value: Record<string, unknown>): value is { assignTo: string; earlierAssignees?: string[] } {
  const { assignTo, earlierAssignees } = value;
  return typeof assignTo === "string" && (earlierAssignees === undefined || Array.isArray(earlierAssignees));
}
