/** `- create_task:`: creates a task. A run that is done again after a crash creates no second one. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { HookgateError } from "../../lib/errors.js";
import { withoutMarks } from "../../lib/text/data-marks.js";
import { parseDuration } from "../../lib/time/duration.js";
import { hasOffset, parseInstant } from "../../lib/time/instant.js";
import { conversationOf } from "../outgoing/chat-address.js";
import type { Step } from "../step.js";
import { isTemplate } from "../template/is-template.js";

const createTaskOptions = z.strictObject({
  title: z
    .string()
    .refine((title) => title.trim() !== "", "expected a title that is not empty")
    .describe("What is to be done, in a line."),
  to: z.string().min(1).describe("Who does it: a runner, or person:platform:id."),
  description: z.string().optional().describe("In full."),
  group: z.string().optional().describe("A word that it goes under."),
  priority: z.int().optional().describe("Higher goes first; 0 when absent."),
  retries: z.int().min(0).max(100).optional().describe("How often it is tried again when it fails."),
  due: z
    .string()
    .refine((due) => isTemplate(due) || isDeadline(due), {
      error: ({ input }) =>
        `expected a duration above 0 such as 2h, or a time such as 2026-11-21T18:00Z, got "${String(input)}"`,
    })
    .refine((due) => isTemplate(due) || !isDeadline(due) || parseDuration(due) !== undefined || hasOffset(due), {
      error: ({ input }) =>
        `"${String(input)}" has no offset, so its hour is not known: write ${String(input)}Z for UTC, or an offset such as ${String(input)}+01:00`,
    })
    .optional()
    .describe("Its deadline: `2h` from now, or a time with its offset."),
  input: z.record(z.string(), z.unknown()).optional().describe("What the runner is given, with templates."),
  draft: z.boolean().default(false).describe("The task is saved as a draft that does not start."),
});

export const createTaskStep: Step<z.output<typeof createTaskOptions>> = {
  name: "create_task",
  summary: "Gives a runner or a person a task.",
  options: createTaskOptions,
  fields: { id: "string", status: "string", title: "string" },
  nullable: ["id", "status"],
  // An agent may do the task: to a model, values of templates are data.
  forModel: ["title", "description"],
  neverEmpty: true,
  isEffect: true,
  assignee: ({ to }) => to,
  missing({ to, due }, { assigneeProblem, now }) {
    const assignee = isTemplate(to) ? undefined : assigneeProblem(to);
    const at = due === undefined || isTemplate(due) ? undefined : parseInstant(due, "UTC");
    return [
      ...(assignee === undefined ? [] : [assignee]),
      ...(at !== undefined && at <= now ? [`create_task.due: ${due} is in the past, so no task can be created`] : []),
    ];
  },
  async run(options, context) {
    const { to, group, priority, retries, due, input, draft } = options;
    const title = withoutMarks(options.title);
    const description = options.description === undefined ? undefined : withoutMarks(options.description);
    const isMarked = title !== options.title || description !== options.description;
    if (context.dryRun)
      return {
        value: { id: null, status: null, title },
        text: `[not created in a dry run: ${title}, for ${to}]`,
        isEmpty: false,
      };
    const { runId, cause, event, reach, clock, hookId } = context;
    const address = conversationOf(event);
    const task = await reach.createTask(
      {
        title,
        assignTo: to,
        description,
        group,
        priority,
        retryPolicy: retries === undefined ? undefined : { maxRetries: retries },
        deadline: due === undefined ? undefined : deadlineOf(due, clock.now()),
        input,
      },
      { by: `hook:${hookId}`, cause },
      {
        id: idOf(runId, `${to}:${title}`),
        status: draft ? "draft" : "pending",
        marked: isMarked ? { title: options.title, description: options.description } : undefined,
        address,
      },
    );
    return {
      value: { id: task.id, status: task.status, title: task.title },
      text: `${task.id} ${task.title}`,
      isEmpty: false,
    };
  },
};

/** Gives the same id for every attempt of a run. */
function idOf(runId: string, what: string): string {
  return `t_${createHash("sha256").update(`${runId}:${what}`).digest("hex").slice(0, 20)}`;
}

function isDeadline(due: string): boolean {
  const ms = parseDuration(due);
  return ms === undefined ? parseInstant(due, "UTC") !== undefined : ms > 0;
}

/** A value that is no duration is compared with the form of a time when the task is created. */
function deadlineOf(due: string, now: number): number | string {
  const ms = parseDuration(due);
  if (ms === 0) throw new HookgateError({ code: "TASK_INVALID", message: "due: a deadline is later than now" });
  return ms === undefined ? due : now + ms;
}
