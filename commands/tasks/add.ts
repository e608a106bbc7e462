/** `/task add WHO TITLE` and `/add-task TITLE`: a command that is handled again after a crash adds no second one. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import type { Clock } from "../../src/lib/clock.js";
import { parseDuration } from "../../src/lib/duration.js";
import { answer, badUsage, commandButton } from "../answer.js";
import { code, plain } from "../text.js";
import { actorOf, type TaskDesk, textOf } from "./parts.js";
import { taskData, taskLine } from "./rows.js";
import { whenOf } from "./when.js";

export async function addTask(
  desk: TaskDesk,
  context: CommandContext,
  clock: Clock,
  given: { to: unknown; title: unknown },
): Promise<CommandAnswer> {
  const { options, operator, causeId, at } = context;
  const title = textOf(given.title);
  if (title === undefined) throw badUsage("Missing: what is to be done.", "/task add WHO TITLE");
  const assignTo = textOf(given.to) ?? `person:${operator.platform}:${operator.userId}`;
  context.need(desk.roleFor(assignTo));
  const dueAt = options.due === undefined ? undefined : whenOf(String(options.due), clock.now());
  const maxDuration = options.timeout === undefined ? undefined : durationOf(String(options.timeout));
  const after = textOf(options.after)
    ?.split(/[,\s]+/)
    .filter((id) => id !== "");
  const task = await desk.create(
    {
      title,
      assignTo,
      ...(typeof options.description === "string" ? { description: options.description } : {}),
      ...(dueAt === undefined ? {} : { deadline: dueAt }),
      ...(after === undefined ? {} : { dependsOn: after }),
      ...(typeof options.group === "string" ? { group: options.group } : {}),
      ...(typeof options.priority === "number" ? { priority: options.priority } : {}),
      ...(typeof options.retries === "number" ? { retryPolicy: { maxRetries: options.retries } } : {}),
      ...(maxDuration === undefined ? {} : { maxDuration }),
      ...(options.approve === true ? { needsApproval: true } : {}),
    },
    actorOf(context),
    {
      // The same when the command is handled once more.
      ...(causeId === undefined ? {} : { id: `t_${causeId}` }),
      ...(at === undefined ? {} : { address: at }),
      ...(options.draft === true ? { status: "draft" as const } : {}),
    },
  );
  return answer({
    text: [`${taskLine(task)}\n${code(task.id)}, for ${plain(task.assignTo)}.`],
    data: taskData(task),
    buttons: [[commandButton("Show", `/task show ${task.id}`)]],
  });
}

function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0) throw badUsage(`\`timeout\` is a duration such as 10m, not "${text}".`);
  return ms;
}
