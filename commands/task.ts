/** `/task`: work for programs, other systems, agents and people, and its progress. */

import type { CommandSpec } from "../src/domain/chat/command.js";
import { hasRole, type Operator } from "../src/domain/chat/identity.js";
import { TASK_STATUSES } from "../src/domain/orchestrator/task.js";
import type { TaskAction } from "../src/domain/orchestrator/task-actions.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { actOnTask, isWorker, isWorkersTurn } from "./tasks/act.js";
import { addTask } from "./tasks/add.js";
import { cancelMany, statesToCancel } from "./tasks/cancel-many.js";
import { needTasks, type TaskDesk, textOf, withNames } from "./tasks/desk.js";
import { listTasks } from "./tasks/list.js";
import { showTask } from "./tasks/show.js";

/** The options of a task; for `/add-task` too. */
export const taskOptions: CommandSpec["options"] = [
  { name: "description", summary: "add: what is to be done, in full", type: "string" },
  {
    name: "due",
    also: ["deadline"],
    summary: "add: the deadline, such as 2h or 2026-12-24T18:00Z",
    type: "string",
  },
  {
    name: "after",
    also: ["depends-on", "dependson"],
    summary: "add: the ids of tasks that must be done first, with commas",
    type: "string",
    complete: "open-tasks",
  },
  { name: "group", summary: "add: the group under which it is listed; list: only tasks of this group", type: "string" },
  { name: "priority", summary: "add: the priority; a higher number starts first, 0 when absent", type: "integer" },
  {
    name: "retries",
    also: ["max-retries", "maxretries"],
    summary: "add: how often a failed task is tried again",
    type: "integer",
  },
  { name: "backoff", summary: "add: the wait before the first retry, such as 30s (it doubles)", type: "string" },
  {
    name: "timeout",
    also: ["max-duration", "maxduration"],
    summary: "add: how long one attempt may take, such as 10m",
    type: "string",
  },
  {
    name: "expect",
    also: ["expectations"],
    summary: 'add: what must be true at the end: "when: result.ok", "judge: It is polite" (several as a list)',
    type: "string",
  },
  { name: "approve", summary: "add: wait until a person approves the task", type: "boolean", spelled: true },
  { name: "draft", summary: "add: save a draft that does not start", type: "boolean", spelled: true },
];

export const task = defineCommand({
  name: "task",
  group: "tasks",
  summary: "Give work to programs, agents and people, and follow it",
  // A person who was given a task may report on it; everything else asks for more.
  role: "anyone",
  roles:
    "Without a role, you can only use `show`, `start`, `done`, `decline`, `ask` and `note`, on a task that was given to you. Otherwise `list`, `add` and `show` require the role viewer, and all other actions the role operator; a runner may require a higher role.",
  actions: {
    list: {
      summary: "Open tasks",
      run: async (deps, context) => listTasks(await withNames(deps), context, deps.clock.now()),
    },
    add: {
      summary: "Create a task for a runner or a person",
      run: (deps, context) => addTask(deps, context, { to: "id", title: "text" }),
    },
    show: {
      summary: "One task in full",
      run: async (deps, context) => showTask(await withNames(deps), context, deps.clock.now()),
    },
    start: { summary: "Start a draft, or a task that was given to you", run: act("start") },
    approve: { summary: "Approve a task that waits for approval", run: act("approve") },
    done: { summary: "Report a task as done", run: act("done") },
    accept: { summary: "Accept reported work without a further check", run: act("accept") },
    decline: { summary: "Decline a task that was given to you", run: act("decline") },
    ask: { summary: "Ask a question about a task", run: act("ask") },
    note: { summary: "Add a note to a task", run: act("note") },
    cancel: { summary: "Cancel a task", run: cancel },
    retry: { summary: "Start a task again", run: act("retry") },
    assign: { summary: "Assign a task to another runner or person", run: act("assign") },
    deadline: { summary: "Change or remove the deadline of a task", run: act("deadline") },
    pause: { summary: "Pause a task", run: act("pause") },
    resume: { summary: "Continue a paused task", run: act("resume") },
    refuse: { summary: "Refuse to approve a task, or its result", run: act("refuse") },
  },
  allows: async (deps, operator, options) => deps.tasks === undefined || allowsTask(deps.tasks, operator, options),
  options: [
    {
      name: "id",
      summary: "The task; add: a runner or person:platform:id; list: a state, word or person; cancel: a state or all",
      type: "string",
      complete: "tasks-to-act-on",
      completeFor: { add: "assignees", list: "words", show: "tasks" },
      words: ["open", "all", ...TASK_STATUSES],
    },
    // Third, so that words need no name: `/task add WHO TITLE`.
    {
      name: "text",
      summary: "add: the title; assign: the assignee; deadline: when, or none; else a reason, a result or a question",
      type: "string",
      rest: true,
      neededFor: ["add", "deadline", "ask", "note"],
      completeFor: { assign: "assignees" },
    },
    ...taskOptions,
    {
      name: "reason",
      summary: "cancel with a state or all: only tasks whose reason has this text, such as crash",
      type: "string",
    },
    { name: "yes", summary: "cancel with a state or all: without asking", type: "boolean", spelled: true },
    {
      name: "selection",
      summary: "cancel with a state or all: set by the button of the question, so that it decides on its tasks only",
      type: "string",
    },
    {
      name: "expected",
      summary: "set by buttons: nothing is done if the state of the task has changed since then",
      type: "integer",
    },
    { name: "page", summary: "list: which page", type: "integer" },
    { name: "limit", summary: "list: how many on a page", type: "integer" },
  ],
});

function act(action: TaskAction) {
  return async (deps: CommandDeps, context: CommandContext) =>
    actOnTask(await withNames(deps), context, action, deps.clock);
}

async function cancel(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const states = statesToCancel(context.options.id);
  return states ? cancelMany(needTasks(deps), context, states) : act("cancel")(deps, context);
}

/**
 * Whether the person may do this to a task. Asked before a button's form is shown and before its press is answered; the role that a runner
 * needs is checked when the action is done.
 */
async function allowsTask(
  { store }: Pick<TaskDesk, "store">,
  operator: Operator,
  { action = "list", id }: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const isLooking = action === "list" || action === "show" || action === "add";
  if (hasRole(operator.role, isLooking ? "viewer" : "operator")) return true;
  const given = textOf(id);
  const task = given === undefined ? undefined : await store.get(given);
  // A person who names no task is asked which of their own is meant.
  if (task === undefined) return given === undefined;
  return isWorker(task, operator) && (action === "show" || isWorkersTurn(task, String(action)));
}
