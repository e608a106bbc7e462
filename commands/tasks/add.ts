/** `/task add WHO TITLE` and `/add-task TITLE`: a command that is handled again after a crash adds no second one. */
import type { Operator } from "../../src/domain/chat/identity.js";
import type { TaskSpecInput } from "../../src/domain/orchestrator/task.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { parseDuration } from "../../src/lib/time/duration.js";
import { answer, badUsage, choosing, commandButton, missing } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, plain } from "../show/text.js";
import { actorOf, assigneeFrom, mayHearHere, type TaskDesk, textOf, withNames } from "./desk.js";
import { expectationsFrom } from "./expect.js";
import { nameOf, taskData } from "./rows.js";
import { whenOf } from "./when.js";

const MAX_TITLE = 300;

/** `names`: of the options for the assignee and the title. */
export async function addTask(
  deps: CommandDeps,
  context: CommandContext,
  names: { to: string; title: string },
): Promise<CommandAnswer> {
  const { options, operator, causeId, attempt, at } = context;
  context.need("viewer");
  const desk = await withNames(deps);
  const to = textOf(options[names.to]);
  const title = textOf(options[names.title]);
  if (to !== undefined && title === undefined && names.to === "id" && !isSomebody(desk, to))
    throw badUsage("Missing: who, or what is to be done.", '/task add WHO TITLE, such as /task add me "Call Ann"');
  if (title === undefined) throw badUsage("Missing: what is to be done.", '/task add WHO TITLE, or /add-task "TITLE"');
  if (title.length > MAX_TITLE)
    throw badUsage(
      `The title is ${title.length} characters long; ${MAX_TITLE} fit.`,
      "The rest goes into description=…",
    );
  if (to === undefined && names.to === "id")
    throw missing("who does it", "A runner, a person such as person:<platform>:<user id>, or me.", "id");
  const assignTo = assigneeFrom(to ?? "me", operator);
  context.need(desk.roleFor(assignTo));
  const creating = desk.create({ title, assignTo, ...fieldsOf(deps, context, desk) }, actorOf(context), {
    // The same id when the command is handled again.
    id: causeId === undefined ? undefined : `t_${causeId}`,
    attempt,
    address: at,
    status: options.draft === true ? ("draft" as const) : undefined,
  });
  const task = await choosing(names.to, to ?? "me", creating);
  return answer({
    text: [`✓ Added **${plain(task.title, 120)}**, for ${whoText(task.assignTo, operator, desk)}.\n${code(task.id)}`],
    data: taskData(task, mayHearHere(desk, context, task)),
    buttons: [[commandButton("Show", `/task show ${task.id}`)]],
  });
}

function whoText(assignTo: string, operator: Operator, desk: TaskDesk): string {
  return assignTo === assigneeFrom("me", operator) ? "you" : plain(nameOf(assignTo, desk));
}

function isSomebody(desk: TaskDesk, name: string): boolean {
  return name.toLowerCase() === "me" || name.startsWith("person:") || desk.assignees().includes(name);
}

function fieldsOf({ clock }: CommandDeps, context: CommandContext, desk: TaskDesk): Partial<TaskSpecInput> {
  const { options } = context;
  const { description, due, after, group, priority, retries, backoff, timeout, expect, approve } = options;
  if (retries !== undefined && (Number(retries) < 0 || Number(retries) > 100))
    throw badUsage(`\`retries\` is a number from 0 to 100, not ${retries}.`);
  if (backoff !== undefined && retries === undefined)
    throw badUsage("`backoff` is the wait between retries: set `retries` too.");
  const dependsOn = textOf(after)
    ?.split(/[,\s]+/)
    .filter((id) => id !== "");
  return {
    description: textOf(description),
    deadline: due === undefined ? undefined : whenOf(String(due), clock.now()),
    dependsOn,
    group: textOf(group),
    priority: typeof priority === "number" ? priority : undefined,
    retryPolicy:
      typeof retries === "number"
        ? {
            maxRetries: retries,
            backoffMs: backoff === undefined ? undefined : durationOf("backoff", String(backoff)),
          }
        : undefined,
    maxDuration: timeout === undefined ? undefined : durationOf("timeout", String(timeout)),
    expectations: typeof expect === "string" ? expectationsFrom(expect, context, desk) : undefined,
    needsApproval: approve === true ? true : undefined,
  };
}

function durationOf(name: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0) throw badUsage(`\`${name}\` is a length of time such as 10m, not "${text}".`);
  return ms;
}
