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

/** More than a mission can have. */
const MOST_TASKS = 60_000;

/** Admins; of a task, or a mission with tasks, only who may hear what their runners said (`role` of the runner); of the answer to a command owners. */
export async function needToReveal(deps: CommandDeps, context: Pick<CommandContext, "need">, of: Revealed) {
  context.need("admin");
  context.need(await roleToRevealIn(deps, of), "It shows what the runner of a task said, or the answer to a command.");
}

/** Live, a hook may post its payload where the person reads it: `last` is for who may have that payload revealed. */
export async function needToFireLast(deps: CommandDeps, context: Pick<CommandContext, "need">, last: Revealed) {
  context.need(
    await roleToRevealIn(deps, last),
    "A hook that is fired live may post the last payload where you read it, so it takes the role that may see this payload. Use `example` or type a payload, or add `dry-run=true`.",
  );
}

/** Unchanged, a payload goes where hooks may have sent it before. What a runner said or a command answered still takes its role. */
export async function needToReplayLive(deps: CommandDeps, context: Pick<CommandContext, "need">, past: Revealed) {
  context.need(
    await roleToHearIn(deps, past),
    "Its payload has what the runner of a task said, or it is of a command. A hook may post that where you read it.",
  );
}

/** Whether the reader may hear what the runner of the task said that this is about, or all of its mission, if it is about one. */
export async function mayHearIn(deps: CommandDeps, { operator }: CommandContext, of: Revealed): Promise<boolean> {
  return hasRole(operator.role, await roleToRevealIn(deps, of));
}

async function roleToRevealIn(deps: CommandDeps, of: Revealed): Promise<Role> {
  return highestRole(["admin", await roleToHearIn(deps, of)]);
}

/** Whether the reader may hear what the runners of the tasks said that this is about, if it is about any. */
export async function mayHearRunners(deps: CommandDeps, { operator }: Pick<CommandContext, "operator">, of: Revealed) {
  return hasRole(operator.role, await roleToHearRunners(deps, of));
}

/** The role for what runners said and commands answered; other texts are for operators. */
async function roleToHearIn(deps: CommandDeps, of: Revealed): Promise<Role> {
  // The answer to a command of an owner may have what only an owner may read.
  return of.cause?.kind === "command" ? "owner" : roleToHearRunners(deps, of);
}

async function roleToHearRunners({ tasks }: CommandDeps, { id, cause, payload }: Revealed): Promise<Role> {
  const roles: [Role, ...Role[]] = ["operator"];
  if (tasks === undefined) return "operator";
  const inPayload = recordOf(payload);
  const inReport = recordOf(inPayload.report);
  const told = [inPayload, ...[inPayload.tasks, inReport.tasks].flatMap(recordsIn)];
  const own = recordOf(inPayload.task);
  const given = [inPayload.missionId, own.id, ...told.map(({ taskId }) => taskId)];
  const named = new Set([...workIn(id), ...workIn(cause?.id), ...given.filter((one) => typeof one === "string")]);
  for (const one of named) {
    if (one.startsWith("m_")) {
      const ofMission = await tasks.store.list({ missionId: one, limit: MOST_TASKS });
      // A message about a mission that is gone may quote anybody.
      if (ofMission.length === 0 && payload === undefined) roles.push("owner");
      roles.push(...ofMission.map(tasks.roleToHear));
    }
    if (!one.startsWith("t_")) continue;
    // Of a task that is gone or was never made, the payload may still know who had it. Otherwise it may have been anybody's.
    const known = [own, ...told.filter(({ taskId }) => taskId === one)];
    const task = (await tasks.store.get(one)) ?? known.find(isAssigned);
    roles.push(task === undefined ? "owner" : tasks.roleToHear(task));
  }
  return highestRole(roles);
}

/** The task or mission that the id of a dispatch, or of a run in it, is made of: `t_…:3:task:complete`, `m_…_completed`, `assess_t_…_1_run`. */
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

function isAssigned(value: Record<string, unknown>): value is { assignTo: string; saidBy?: string[] } {
  const { assignTo, saidBy } = value;
  return typeof assignTo === "string" && (saidBy === undefined || Array.isArray(saidBy));
}
