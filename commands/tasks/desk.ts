/** The parts that the commands about tasks use and share. */
import type { Address } from "../../src/domain/chat/address.js";
import { auditedNames } from "../../src/domain/chat/audited-names.js";
import { hasRole, type Operator, type Role } from "../../src/domain/chat/identity.js";
import type { Expectation } from "../../src/domain/orchestrator/expectation.js";
import type { Actor, Task } from "../../src/domain/orchestrator/task.js";
import { isPossible, participleOf, type TaskAction } from "../../src/domain/orchestrator/task-actions.js";
import type { Store } from "../../src/domain/store.js";
import { type CommandContext, UnclearOption } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Orchestrator } from "../../src/orchestrator/orchestrator.js";
import { missing, notFound } from "../answer.js";
import { clip, code, plain } from "../show/text.js";
import { whoIs } from "../show/who-is.js";

export type TaskDesk = Pick<
  Orchestrator,
  | "store"
  | "create"
  | "startTask"
  | "approve"
  | "resume"
  | "report"
  | "accept"
  | "again"
  | "pause"
  | "cancel"
  | "refuse"
  | "assign"
  | "setDeadline"
  | "note"
  | "status"
  | "progressOf"
> & {
  /** Names of the configured runners. */
  assignees(): string[];
  /** The problem that keeps an expectation from ever being checked: a condition that cannot be read, a model that is not there. */
  expectationProblem(one: Expectation): string | undefined;
  /** Where a task or mission can be read in chat. */
  linkOf(work: { id: string; type: "task" | "mission" }): Promise<string | undefined>;
  /** The name that people use for an account `platform:id`. */
  nameOf(ref: string): string | undefined;
  /** Who may give this runner work. */
  roleFor(assignTo: string): Role;
  /** Who may see the words about the task. */
  roleToHear(task: Pick<Task, "assignTo" | "earlierAssignees">): Role;
  /** Passes on a question of the person who does a task, or words for them, as a message of its own. */
  pass(task: Task, text: string, asker: Asker, id: string): Promise<Passed>;
};

/** The person whose words are passed on, and where that person wrote them; without `at` over HTTP. */
export interface Asker {
  from: "worker" | "others";
  operator: Operator;
  at: Address | undefined;
}

/** nowhere: no other conversation · reported: the asker is notified when it does not arrive · unreported: the asker cannot be reached. */
export type Passed = "nowhere" | "reported" | "unreported";

/** Tasks that are compared with a title. */
const MAX_NAMED = 500;
/** Tasks of which an answer has the states. */
const MAX_LISTED = 5;

export function needTasks({ tasks }: { tasks?: TaskDesk }): TaskDesk {
  if (tasks !== undefined) return tasks;
  throw new HookgateError({ code: "NOT_HERE", message: "Tasks are not available here." });
}

/** Names people also by the names under which they gave commands. */
export async function withNames(deps: { tasks?: TaskDesk; store: Pick<Store, "audit"> }): Promise<TaskDesk> {
  const desk = needTasks(deps);
  const names = await auditedNames(deps.store);
  return { ...desk, nameOf: (ref) => desk.nameOf(ref) ?? (names.get(ref) || undefined) };
}

/** `operator`: without a role, other tasks are not shown. `action`: what is to be done to it; absent where it is only shown. */
export async function needTask(
  desk: TaskDesk,
  given: unknown,
  { operator, action }: { operator?: Operator; action?: TaskAction } = {},
): Promise<Task> {
  const id = typeof given === "string" ? given.trim() : "";
  const isOutsider = operator !== undefined && operator.role === undefined;
  const where = isOutsider ? "The card of a task shows its id." : "/task list shows them.";
  if (id === "") throw missing("which task", where, "id");
  const found = await desk.store.get(id);
  // To a person without a role, the task of another is as if it was not there.
  if (found && (!isOutsider || isTaskOf(found, operator))) return found;
  const known = isOutsider ? [] : await desk.store.list({ limit: 200 });
  const fits = isOutsider ? [] : await tasksWith(desk, id);
  const sameTitle = withTitle(id, fits);
  const meant = sameTitle.length > 1 ? sameTitle : fits;
  const [first, ...others] = meant;
  if (first) {
    const amount = others.length === 0 ? `"${clip(first.title, 80)}" (${first.id})` : `${meant.length} tasks`;
    const [message, hint] =
      meant === sameTitle
        ? [`${amount} have the title "${clip(id, 80)}"`, `Name the task by its id. ${where}`]
        : [
            `"${clip(id, 80)}" is only a part of the title of ${amount}`,
            `Name the task by its id or its whole title. ${where}`,
          ];
    throw unclear(meant, { message, hint, typed: id, operator, action });
  }
  throw notFound(
    "task",
    id,
    known.map((one) => one.id),
    where,
    "id",
  );
}

/** The tasks that may be meant are offered; where none of them is in a state for the action, the answer has their states. */
function unclear(
  meant: readonly Task[],
  about: {
    message: string;
    hint: string;
    typed: string;
    operator: Operator | undefined;
    action: TaskAction | undefined;
  },
): HookgateError {
  const { message, hint, typed, operator, action } = about;
  const who = operator === undefined ? "" : `person:${operator.platform}:${operator.userId}`;
  const fit = action === undefined ? meant : meant.filter((task) => isPossible(task, action, who));
  if (fit.length > 0 || action === undefined) {
    const facts = { code: "NOT_FOUND", message: `${message}.`, hint };
    const among = fit.map((task) => task.id);
    return new UnclearOption(facts, "id", typed, among);
  }
  const states = meant
    .slice(0, MAX_LISTED)
    .map(({ id, title, status }) => `- ${plain(title, 80)} is ${status.replaceAll("_", " ")}. ${code(id)}`);
  const more = meant.length > MAX_LISTED ? [`- and ${meant.length - MAX_LISTED} more: ${code("/task list all")}`] : [];
  const none = meant.length === 1 ? "it cannot" : "none of them can";
  return new HookgateError({
    code: "TASK_TRANSITION",
    message: `${message}, and ${none} be ${participleOf(action)}.`,
    hint: [...states, ...more].join("\n"),
  });
}

/** By its whole title, regardless of case, when only one task has it. */
export async function taskTitled({ store }: Pick<TaskDesk, "store">, title: string): Promise<Task | undefined> {
  const [only, ...others] = withTitle(title, await store.list({ text: title, limit: MAX_NAMED }));
  return others.length === 0 ? only : undefined;
}

/** Tasks whose title contains the text, regardless of case. */
async function tasksWith({ store }: Pick<TaskDesk, "store">, words: string): Promise<Task[]> {
  const found = await store.list({ text: words, limit: MAX_NAMED });
  return found.filter(({ title }) => title.toLowerCase().includes(words.toLowerCase()));
}

const withTitle = (title: string, tasks: readonly Task[]) =>
  tasks.filter((task) => task.title.trim().toLowerCase() === title.toLowerCase());

/** By its title or a part of it, when that fits one task only. Words behind the first one belong to the title. */
export async function taskNamed(
  desk: Pick<TaskDesk, "store">,
  words: readonly (string | undefined)[],
): Promise<Task | undefined> {
  const name = words.filter((part) => part !== undefined).join(" ");
  if (name === "") return undefined;
  const fits = await desk.store.list({ text: name, limit: MAX_NAMED });
  const exact = withTitle(name, fits);
  const [only, ...others] = exact.length > 0 ? exact : fits;
  return others.length === 0 ? only : undefined;
}

/** The person is given it. */
export function isTaskOf({ owner }: Pick<Task, "owner">, { platform, userId }: Operator): boolean {
  return owner === `person:${platform}:${userId}`;
}

/**
 * The words of programs, agents and people about a task are for those who may give them work, and, as far as operators may see them, for
 * the person who has the task.
 */
export function mayHear(
  desk: Pick<TaskDesk, "roleToHear">,
  operator: Operator,
  task: Pick<Task, "assignTo" | "earlierAssignees" | "owner">,
): boolean {
  const role = desk.roleToHear(task);
  return hasRole(operator.role, role) || (isTaskOf(task, operator) && hasRole("operator", role));
}

/** As `mayHear`, for an answer in chat: where other people read it, it has only words that any operator may hear. */
export function mayHearHere(
  desk: Pick<TaskDesk, "roleToHear">,
  { operator, from }: Pick<CommandContext, "operator" | "from">,
  task: Pick<Task, "assignTo" | "earlierAssignees" | "owner">,
): boolean {
  return (
    mayHear(desk, operator, task) && (from?.isAnsweredOpenly !== true || hasRole("operator", desk.roleToHear(task)))
  );
}

/** The assignee, as people write it: `me` is the writer. */
export function assigneeFrom(given: string, { platform, userId }: Operator): string {
  return given.toLowerCase() === "me" ? `person:${platform}:${userId}` : given;
}

/** The person who gave the command, with the cause of the command. */
export function actorOf({ operator, causeId, givenBy }: CommandContext, reason?: string): Actor {
  return {
    by: whoIs(operator),
    reason: reason === undefined || reason === "" ? undefined : reason,
    cause: givenBy ?? { kind: "command", id: causeId ?? "http", depth: 0 },
  };
}

export function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}
