/** `/task show ID`: one task in full, with its history: who changed it, and why. */

import { hasRole } from "../../src/domain/chat/identity.js";
import { saidElsewhere, type Task } from "../../src/domain/orchestrator/task.js";
import type { TaskAction } from "../../src/domain/orchestrator/task-actions.js";
import { lineFor } from "../../src/domain/orchestrator/task-press.js";
import type { TaskEvent } from "../../src/domain/orchestrator/task-store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { withoutUndefined } from "../../src/lib/without-undefined.js";
import { answer, commandButton } from "../answer.js";
import { readableReasons } from "../hooks/hook-reasons.js";
import { ago, block, clockTime, code, plain } from "../show/text.js";
import { isWorker, mayAct } from "./act.js";
import { mayHear, mayHearHere, needTask, type TaskDesk, taskNamed, textOf } from "./desk.js";
import { dueText, nameOf, readableTask, taskData, taskLine, undeliveredText } from "./rows.js";

const HISTORY = 30;
const LONGEST_OUTPUT = 1_500;

export async function showTask(desk: TaskDesk, context: CommandContext, now: number): Promise<CommandAnswer> {
  const given = textOf(context.options.id);
  const byId = given === undefined ? undefined : await desk.store.get(given);
  const mayList = hasRole(context.operator.role, "viewer");
  const found =
    byId ?? (mayList ? await taskNamed(desk, [textOf(context.options.id), textOf(context.options.text)]) : undefined);
  // A person who may not see a task does not learn whether it is there.
  if (found === undefined || !isWorker(found, context.operator)) context.need("viewer");
  const task = readableTask(found ?? (await needTask(desk, given)), context);
  const events = (await desk.store.events(task.id, HISTORY)).map((event) =>
    event.kind === "refused" ? readableReasons(context, event) : event,
  );
  const link = await desk.linkOf({ id: task.id, type: "task" });
  const maySeeOutput = mayHearHere(desk, context, task);
  const isElsewhere = task.attempt > 0 && mayHear(desk, context.operator, task);
  return answer({
    text: [
      taskLine(task, maySeeOutput),
      undeliveredText(task),
      task.description && plain(task.description, 1_000),
      factsOf(task, desk, now, link),
      interruptionText(task),
      maySeeOutput ? outputOf(desk, task) : isElsewhere && saidElsewhere(task.id, desk.roleToHear(task)),
      `**History**\n${events.map((event) => eventLine(event, desk, now, maySeeOutput)).join("\n")}`,
    ],
    data: {
      ...taskData(task, maySeeOutput),
      link,
      ...(maySeeOutput ? withoutUndefined({ result: task.result }) : undefined),
      history: events.map((event) => (maySeeOutput ? event : withoutWords(event))),
    },
    buttons: [buttonsOf(task, desk, context)],
  });
}

/** A failure's reason quotes the program, a note what people said. */
function withoutWords(event: TaskEvent): TaskEvent {
  const { reason: _, note, ...rest } = event;
  if (event.kind === "note") return rest;
  return event.kind === "transition" ? withoutUndefined({ ...rest, note }) : event;
}

/** The text about a run that was interrupted, or whose hooks were, and about what a person can do. */
function interruptionText({ id, hold, attempt, result, status }: Task): string | undefined {
  if (hold?.kind !== "interruption") return undefined;
  const isRun = hold.point === undefined || (hold.wanted === "pending" && attempt > 0);
  const hooks = result === undefined ? "calls the hooks again" : "calls the hooks again, without another run";
  return [
    result && endOfRun(result),
    `${code(`/task retry ${id}`)} ${isRun ? "runs it again" : hooks}.`,
    `${code(`/task ${status === "review" ? "accept" : "done"} ${id}`)} accepts it as it is.`,
    status === "blocked" && `${code(`/task cancel ${id}`)} ends the task.`,
  ]
    .filter((part) => typeof part === "string")
    .join(" ");
}

function endOfRun({ ok, exitCode }: NonNullable<Task["result"]>): string {
  if (exitCode !== undefined) return `Its program ended with exit code ${exitCode}.`;
  return ok ? "Its run ended without an error." : "Its run ended with an error.";
}

function factsOf(task: Task, desk: TaskDesk, now: number, link: string | undefined): string {
  const {
    id,
    assignTo,
    createdBy,
    createdAt,
    attempt,
    retryPolicy,
    dependsOn,
    group,
    missionId,
    startedAt,
    endedAt,
    hold,
  } = task;
  const due = dueText(task, now);
  return [
    `${code(id)}, for ${plain(nameOf(assignTo, desk))}, created by ${plain(nameOf(createdBy, desk))} ${ago(createdAt, now)}`,
    ...(attempt > 0
      ? [
          `attempt ${attempt}${startedAt === undefined || hold?.wanted === "in_progress" ? ", not started" : ""}, ${retryPolicy.maxRetries} retries allowed`,
        ]
      : []),
    ...(startedAt !== undefined && endedAt !== undefined ? [`took ${formatDuration(endedAt - startedAt)}`] : []),
    ...(due === "" ? [] : [`due ${due}`]),
    ...(dependsOn?.length ? [`waits for ${dependsOn.map(code).join(", ")}`] : []),
    ...(group === undefined ? [] : [`group ${plain(group)}`]),
    ...(missionId === undefined ? [] : [`mission ${code(missionId)}`]),
    ...(link === undefined ? [] : [`[its card](${link})`]),
  ].join("\n");
}

function outputOf(desk: TaskDesk, task: Task): string | undefined {
  const progress = task.status === "in_progress" ? desk.progressOf(task.id) : undefined;
  const text = (progress?.output ?? task.result?.output ?? "").trim();
  return text === "" ? undefined : block(text.length > LONGEST_OUTPUT ? `…${text.slice(-LONGEST_OUTPUT)}` : text);
}

function eventLine(
  { at, kind, from, to, by, reason, note }: TaskEvent,
  desk: TaskDesk,
  now: number,
  isOpen: boolean,
): string {
  const what = {
    created: "created",
    transition: `${from} → ${to}`,
    refused: "refused",
    changed: "changed",
    note: "said",
  }[kind];
  const why = isOpen || (kind !== "transition" && kind !== "note") ? reason : undefined;
  const words = [kind === "note" ? undefined : note, why].filter((text) => text !== undefined && text !== "");
  return `${clockTime(at, now)} ${what} by ${plain(nameOf(by, desk))}${words.length === 0 ? "" : `: ${plain(words.join("; "), 400)}`}`;
}

/** The actions that this reader may do to the task: a press of another one would be refused. */
function buttonsOf(task: Task, desk: TaskDesk, { operator }: CommandContext) {
  if (!hasRole(operator.role, "operator")) return [];
  return nextSteps(task)
    .filter(([, action]) => mayAct(desk, task, operator, action))
    .map(([label, action]) => commandButton(label, lineFor(action, task)));
}

function nextSteps({ status }: Task): (readonly [label: string, action: TaskAction])[] {
  switch (status) {
    case "draft":
      return [
        ["Start", "start"],
        ["Cancel", "cancel"],
      ];
    case "awaiting_approval":
      return [
        ["Approve", "approve"],
        ["Refuse", "refuse"],
      ];
    case "failed":
    case "cancelled":
      return [["Retry", "retry"]];
    case "blocked":
      return [
        ["Retry", "retry"],
        ["Cancel", "cancel"],
      ];
    case "review":
      return [
        ["Accept", "accept"],
        ["Again", "retry"],
        ["Refuse", "refuse"],
      ];
    case "paused":
      return [
        ["Resume", "resume"],
        ["Cancel", "cancel"],
      ];
    case "done":
      return [];
    default:
      return [
        ["Pause", "pause"],
        ["Cancel", "cancel"],
      ];
  }
}
