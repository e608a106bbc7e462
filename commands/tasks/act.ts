/**
 * Actions of people on a task: each is a request that hooks may refuse. The person to whom it is assigned may report on it; the rest is for
 * operators.
 */
import { hasRole, highestRole, type Operator, type Role } from "../../src/domain/chat/identity.js";
import { OPEN_TASK_STATUSES, type Task, type TaskStatus } from "../../src/domain/orchestrator/task.js";
import type { TaskAction } from "../../src/domain/orchestrator/task-actions.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { Clock } from "../../src/lib/time/clock.js";
import type { Transitioned } from "../../src/orchestrator/tasks/transition.js";
import { answer, badUsage, choosing, commandButton, missing } from "../answer.js";
import { plain } from "../show/text.js";
import {
  actorOf,
  assigneeFrom,
  isTaskOf,
  mayHearHere,
  needTask,
  type Passed,
  type TaskDesk,
  taskTitled,
  textOf,
} from "./desk.js";
import { changedSince, nothingToDo } from "./meanwhile.js";
import { nameOf, passedOn, taskData, taskLine, undeliveredText } from "./rows.js";
import { whenOf } from "./when.js";

const WORKERS: readonly string[] = ["start", "done", "decline", "ask", "note"] satisfies TaskAction[];

/** The states in which it is the operators' turn: a request to do work does not let a person approve or accept it. */
const OPERATORS_TURN: ReadonlySet<TaskStatus> = new Set([
  "draft",
  "pending",
  "awaiting_approval",
  "review",
  "blocked",
  "paused",
]);

/** Actions that stop a task, or only add words to it. All others decide its result, and the work that waits for it may run then. */
const DECIDES_NOTHING: readonly string[] = ["ask", "note", "deadline", "pause", "cancel"] satisfies TaskAction[];

/** Whether the person who has the task may do this without any role. */
export function isWorkersTurn({ status }: Task, action: string): boolean {
  // Their second report changes nothing.
  if (action === "done" && status === "review") return true;
  return WORKERS.includes(action) && (action === "ask" || action === "note" || !OPERATORS_TURN.has(status));
}

const isTheirTurn = (task: Task, operator: Operator, action: string) =>
  isWorker(task, operator) && isWorkersTurn(task, action);

/** The role that an action needs from people who do not have the task. */
function roleToAct(desk: Pick<TaskDesk, "roleToHear">, task: Task, action: string): Role {
  return DECIDES_NOTHING.includes(action) ? "operator" : highestRole(["operator", desk.roleToHear(task)]);
}

/** Whether doing this would not be refused for want of a role. */
export function mayAct(
  desk: Pick<TaskDesk, "roleToHear">,
  task: Task,
  operator: Operator,
  action: TaskAction,
): boolean {
  return isTheirTurn(task, operator, action) || hasRole(operator.role, roleToAct(desk, task, action));
}

/** The person to whom the task is given. */
export const isWorker = isTaskOf;

export async function actOnTask(
  desk: TaskDesk,
  context: CommandContext,
  action: TaskAction,
  clock: Clock,
): Promise<CommandAnswer> {
  const { options, operator } = context;
  // A person who may not see any task does not learn whether one exists.
  if (!WORKERS.includes(action)) context.need("operator");
  const task = await findFor(desk, context, action);
  if (!isTheirTurn(task, operator, action)) {
    context.need("operator");
    context.need(roleToAct(desk, task, action));
  }
  const meanwhile = await changedSince(desk, task, action, options.expected);
  if (meanwhile !== undefined) return nothingToDo(desk, context, task, meanwhile, clock.now());
  const text = textOf(options.text) ?? textOf(options.reason);
  const { id } = task;
  const actor = actorOf(context, text);
  const result = text === undefined ? undefined : { ok: true, output: text, durationMs: sinceStart(task, clock) };
  switch (action) {
    case "start":
      needTheirs(desk, context, task);
      return outcomeText(desk, context, await desk.startTask(task, actor));
    case "approve":
      return outcomeText(desk, context, await desk.approve(task, actor));
    case "resume":
      return outcomeText(desk, context, await desk.resume(task, actor));
    case "retry":
      return outcomeText(desk, context, await desk.again(task, actor));
    case "done":
      return outcomeText(desk, context, await desk.report(task, actor, result));
    case "accept":
      return outcomeText(desk, context, await desk.accept(task, actor, result));
    case "decline":
      return outcomeText(
        desk,
        context,
        await desk.refuse(task, { ...actor, reason: text ?? `${nameOf(actor.by, desk)} declined it` }),
      );
    case "refuse":
      return outcomeText(
        desk,
        context,
        await desk.refuse(task, { ...actor, reason: text ?? `${nameOf(actor.by, desk)} refused it` }),
      );
    case "pause":
      return outcomeText(desk, context, await desk.pause(id, actor));
    case "cancel":
      return outcomeText(desk, context, await desk.cancel(id, actor));
    case "assign":
      return outcomeText(desk, context, await assign(desk, context, id, text));
    case "deadline": {
      const wanted = text ?? (typeof options.due === "string" ? options.due : undefined);
      if (wanted === undefined) throw badUsage("Missing: when.", "/task deadline ID 2h, or a time, or none");
      if (task.status === "done")
        throw new HookgateError({
          code: "TASK_TRANSITION",
          message: `"${task.title}" is done: a deadline changes nothing any more.`,
        });
      const deadline = wanted.toLowerCase() === "none" ? undefined : whenOf(wanted, clock.now());
      return changed(desk, context, await desk.setDeadline(id, deadline, actorOf(context)));
    }
    case "ask":
    case "note":
      if (text === undefined)
        throw badUsage(
          action === "ask" ? "Missing: the question." : "Missing: the words.",
          `Reply to the card with them, or write /task ${action} ${id} and the words.`,
        );
      return handInText(desk, context, action, task, text);
  }
}

/** Another person's task is started in their name by a press of their card only. */
function needTheirs(desk: TaskDesk, { operator, options }: CommandContext, task: Task): void {
  if (task.status !== "assigned" || options.expected !== undefined || isWorker(task, operator)) return;
  throw new HookgateError({
    code: "TASK_TRANSITION",
    message: `"${task.title}" is assigned to ${nameOf(task.assignTo, desk)}, who starts it.`,
    hint: `/task done ${task.id} reports it as done for them.`,
  });
}

async function assign(desk: TaskDesk, context: CommandContext, id: string, text: string | undefined) {
  if (text === undefined) throw missing("the new assignee", "/task assign ID WHO", "text");
  const assignTo = assigneeFrom(text, context.operator);
  context.need(desk.roleFor(assignTo));
  return choosing("text", text, desk.assign(id, assignTo, actorOf(context)));
}

/** Without a role, a person sees only their own tasks. */
async function findFor(desk: TaskDesk, context: CommandContext, action: TaskAction): Promise<Task> {
  const given = textOf(context.options.id);
  const byId = given === undefined ? undefined : await desk.store.get(given);
  const mayList = given !== undefined && hasRole(context.operator.role, "viewer");
  const stored = byId ?? (mayList ? await taskTitled(desk, given) : undefined);
  const isVisible = stored !== undefined && (context.operator.role !== undefined || isWorker(stored, context.operator));
  const found = isVisible ? stored : undefined;
  const isTheirs = found === undefined ? await hasWork(desk, context.operator) : isWorker(found, context.operator);
  if (!isTheirs) context.need("operator");
  return found ?? needTask(desk, given, { operator: context.operator, action });
}

/** A person who has work is asked which task was meant. */
export async function hasWork({ store }: Pick<TaskDesk, "store">, operator: Operator): Promise<boolean> {
  if (hasRole(operator.role, "operator")) return true;
  const open = await store.list({ status: OPEN_TASK_STATUSES, limit: REACH });
  return open.some((task) => isWorker(task, operator));
}

const REACH = 200;

async function handInText(
  desk: TaskDesk,
  context: CommandContext,
  action: "ask" | "note",
  task: Task,
  text: string,
): Promise<CommandAnswer> {
  const from = isWorker(task, context.operator) ? "worker" : "others";
  const noted = await desk.note(task.id, text, actorOf(context));
  const words = passedOn(action === "ask" ? "❓" : "💬", noted.lastNote?.by ?? "", task, text, desk);
  const id = `d_${task.id}_n${noted.version}`;
  const passed = await desk.pass(noted, words, { from, operator: context.operator, at: context.at }, id);
  return answer({
    text: [passedText(passed, id), from === "others" && passed !== "nowhere" && undeliveredText(noted)],
    data: taskData(noted, mayHearHere(desk, context, noted)),
  });
}

/** Whether it arrived is not known yet. */
function passedText(passed: Passed, id: string): string {
  if (passed === "nowhere") return "Noted; there is no conversation to pass it on to.";
  const next =
    passed === "reported" ? "You will be notified if it does not arrive." : `\`/hooks why ${id}\` follows it.`;
  return `Noted, and on its way. ${next}`;
}

function outcomeText(desk: TaskDesk, context: CommandContext, came: Transitioned): CommandAnswer {
  const { task } = came;
  const isOpen = mayHearHere(desk, context, task);
  const data = taskData(task, isOpen);
  const buttons = [[commandButton("Show", `/task show ${task.id}`)]];
  if (came.kind === "moved") return answer({ text: [taskLine(task, isOpen)], data, buttons });
  const error =
    came.kind === "vetoed"
      ? { code: "TASK_VETOED", message: `${came.by} refused (${came.point}): ${came.reason}` }
      : { code: "TASK_BUSY", message: "Another person was faster." };
  const text = [`✗ ${plain(error.message, 600)}`, taskLine(task, isOpen)];
  return answer({ text, data: { ...data, error }, buttons, outcome: "failed" });
}

function changed(desk: TaskDesk, context: CommandContext, task: Task): CommandAnswer {
  const isOpen = mayHearHere(desk, context, task);
  const due = task.deadline === undefined ? "It has no deadline." : `Due <t:${Math.floor(task.deadline / 1000)}:f>.`;
  return answer({ text: [`${taskLine(task, isOpen)}\n${due}`], data: taskData(task, isOpen) });
}

const sinceStart = ({ run }: Task, clock: Clock) => (run === undefined ? 0 : Math.max(0, clock.now() - run.startedAt));
