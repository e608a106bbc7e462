/** Resolves `assignTo` to an assignee: a configured runner, or a person by `person:<platform>:<user id>`. */
import { highestRole, type Role } from "../domain/chat/identity.js";
import { platformProblem } from "../domain/chat/platform.js";
import type { Task } from "../domain/orchestrator/task.js";
import { HookgateError } from "../lib/errors.js";
import { nearest } from "../lib/validation/nearest.js";
import type { OrchestratorConfig, PersonConfig, RunnerConfig } from "./config.js";

export type Assignee =
  | { kind: "runner"; name: string; owner: string; runner: RunnerConfig }
  /** `owner`: `person:<platform>:<user id>`, however it was written. */
  | { kind: "person"; name: string; owner: string; person: PersonConfig; maxDurationMs?: number };

const PERSON = /^person:([a-z]+):([^:]+)$/;

/** Throws TASK_ASSIGNEE with the nearest name. */
export function assigneeOf(assignTo: string, { runners }: Pick<OrchestratorConfig, "runners">): Assignee {
  const [, platform, userId] = PERSON.exec(assignTo) ?? [];
  const unknown = platform === undefined ? undefined : platformProblem(platform);
  if (unknown !== undefined)
    throw new HookgateError({
      code: "TASK_ASSIGNEE",
      message: `There is no person "${assignTo}": ${unknown}.`,
      hint: "A person is named person:<platform>:<user id>.",
    });
  if (platform !== undefined && userId !== undefined)
    return { kind: "person", name: assignTo, owner: assignTo, person: { user: `${platform}:${userId}` } };
  const runner = Object.hasOwn(runners, assignTo) ? runners[assignTo] : undefined;
  if (runner?.person)
    return {
      kind: "person",
      name: assignTo,
      owner: `person:${runner.person.user}`,
      person: runner.person,
      maxDurationMs: runner.max_duration,
    };
  if (runner) return { kind: "runner", name: assignTo, owner: assignTo, runner };
  const near = nearest(assignTo, Object.keys(runners));
  throw new HookgateError({
    code: "TASK_ASSIGNEE",
    message: `There is no runner or person "${assignTo}"${near === undefined ? "." : `. Did you mean "${near}"?`}`,
    hint: `Name a runner of \`orchestrator.runners\` (${Object.keys(runners).join(", ") || "none is configured"}), or a person: person:<platform>:<user id>.`,
    meant: near,
  });
}

/** Why no task can be given to this assignee; undefined when one can. */
export function assigneeProblem(assignTo: string, config: Pick<OrchestratorConfig, "runners">): string | undefined {
  try {
    assigneeOf(assignTo, config);
    return undefined;
  } catch (error) {
    return error instanceof HookgateError ? error.message : String(error);
  }
}

/**
 * The role that may give it tasks and see its output; for an agent, the highest role of the runners that it may start. Undefined when there
 * is no such runner.
 */
export function roleToAssign(assignTo: string, config: Pick<OrchestratorConfig, "runners">): Role | undefined {
  const runner = Object.hasOwn(config.runners, assignTo) ? config.runners[assignTo] : undefined;
  if (PERSON.test(assignTo) || runner?.person !== undefined) return "operator";
  const tools = runner?.agent?.tools.flatMap((tool) => config.runners[tool]?.role ?? []) ?? [];
  return runner && highestRole([runner.role, ...tools]);
}

/**
 * The role that may see the task's output and notes: the highest of all its assignees, because older output stays visible. The output of a
 * runner that is gone is for owners only.
 */
export function roleToHear(
  { assignTo, earlierAssignees = [] }: Pick<Task, "assignTo" | "earlierAssignees">,
  config: Pick<OrchestratorConfig, "runners">,
): Role {
  const roleOf = (name: string) => roleToAssign(name, config) ?? "owner";
  return highestRole([roleOf(assignTo), ...earlierAssignees.map(roleOf)]);
}
