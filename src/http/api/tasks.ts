/** /api/v1/tasks: work for programs, agents and people, and what becomes of it. */
import { z } from "zod";
import { task as storedTask, TASK_STATUSES } from "../../domain/task.js";
import { page } from "./answers.js";
import { endpoint } from "./endpoint.js";

const time = z.number().describe("Milliseconds since the epoch.");
const id = z.object({ id: z.string().min(1).max(200).describe("The id of a task.") });
const who = z
  .string()
  .min(1)
  .max(200)
  .describe("A runner of `orchestrator.runners`, `person:<platform>:<user id>`, or `me`.");
const length = z.string().max(40).describe("Such as 30s, 10m or 2h.");
const due = z
  .union([z.string().max(60), z.number()])
  .describe("Such as 2h, 2026-12-24T18:00Z, or milliseconds since the epoch.");
const reason = z.string().min(1).max(4_000);

const { address: _, cards: __, cause: ___, run: ____, assessmentRound: _____, result, ...facts } = storedTask.shape;

const task = z.object({
  ...facts,
  run: z.object({ id: z.string(), startedAt: time }).optional(),
  result: z
    .object({ ...result.unwrap().partial().shape, ok: z.boolean(), durationMs: z.number() })
    .optional()
    .describe("Its output only to those who may give its runner work."),
  link: z.string().optional().describe("Where it can be read in chat."),
});

const event = z.object({
  id: z.string(),
  at: time,
  kind: z.enum(["created", "transition", "refused", "changed", "note"]),
  from: z.enum(TASK_STATUSES).optional(),
  to: z.enum(TASK_STATUSES).optional(),
  by: z.string(),
  reason: z.string().optional(),
  note: z.string().optional(),
  attempt: z.number(),
});

const detail = task.extend({ history: z.array(event) });

const newTask = z.strictObject({
  title: z.string().trim().min(1).max(300),
  assignTo: who,
  description: z.string().max(20_000).optional(),
  expectations: z
    .array(z.record(z.string(), z.unknown()))
    .max(50)
    .optional()
    .describe("As in a plan; checks by programs are allowed in plans only."),
  dependsOn: z.array(z.string()).max(200).optional().describe("Ids of tasks that must be done first."),
  group: z.string().max(200).optional(),
  maxDuration: length.optional().describe("What one attempt may take: 10m."),
  retryPolicy: z
    .strictObject({ maxRetries: z.int().min(0).max(100), backoff: length.optional() })
    .optional()
    .describe("How often it is tried again, and the wait before the first time; it doubles."),
  deadline: due.optional(),
  priority: z.int().optional().describe("Higher goes first; 0 when absent."),
  needsApproval: z.boolean().optional(),
  draft: z.boolean().optional().describe("The task is saved as a draft until it is started."),
});

/** Something done with one task, and the words for it that the body holds. */
const acts = <B>(
  name: string,
  summary: string,
  action: string,
  body: z.ZodType<B>,
  text: (body: B) => string | undefined,
) =>
  endpoint({
    method: "POST",
    path: `/tasks/:id/${action}`,
    id: name,
    summary,
    params: id,
    body,
    answer: task,
    command: (given) => ({ name: "task", options: { action, id: given.params.id, text: text(given.body) } }),
  });

const withReason = z.strictObject({ reason: reason.optional() }).prefault({});
const decides = (name: string, summary: string, action: string) =>
  acts(name, summary, action, withReason, (body) => body.reason);

const withText = z.strictObject({ text: reason });
const says = (name: string, summary: string, action: string) =>
  acts(name, summary, action, withText, (body) => body.text);

const withResult = z
  .strictObject({ result: z.string().min(1).max(100_000).optional().describe("What it brought.") })
  .prefault({});

export const taskEndpoints = [
  endpoint({
    method: "GET",
    path: "/tasks",
    id: "listTasks",
    summary: "Tasks, newest first.",
    query: z.object({
      filter: z
        .string()
        .max(200)
        .default("open")
        .describe("`open` (the default), `all`, a status, or part of a title or id."),
      group: z.string().max(200).optional().describe("Only those of this group."),
      page: z.coerce.number().int().min(1).optional(),
      limit: z.coerce.number().int().min(1).max(200).default(100),
    }),
    answer: z.object({
      tasks: z.array(task),
      ...page,
      counts: z.record(z.string(), z.number()).describe("How many tasks there are, by status."),
      held: z
        .object({ by: z.string(), reason: z.string() })
        .optional()
        .describe("A hook keeps everything from starting."),
    }),
    command: ({ query: { filter, ...paging } }) => ({
      name: "task",
      options: { action: "list", id: filter, ...paging },
    }),
  }),
  endpoint({
    method: "POST",
    path: "/tasks",
    id: "addTask",
    summary: "Creates a task.",
    creates: true,
    body: newTask,
    answer: task,
    command: ({ body }) => ({
      name: "task",
      options: {
        action: "add",
        id: body.assignTo,
        text: body.title,
        description: body.description,
        expect: body.expectations?.length ? JSON.stringify(body.expectations) : undefined,
        after: body.dependsOn?.join(","),
        group: body.group,
        timeout: body.maxDuration,
        retries: body.retryPolicy?.maxRetries,
        backoff: body.retryPolicy?.backoff,
        due: dueText(body.deadline),
        priority: body.priority,
        approve: body.needsApproval,
        draft: body.draft,
      },
    }),
  }),
  endpoint({
    method: "GET",
    path: "/tasks/:id",
    id: "showTask",
    summary: "One task with its history.",
    params: id,
    answer: detail,
    command: ({ params }) => ({ name: "task", options: { action: "show", id: params.id } }),
  }),
  decides(
    "startTask",
    "Starts a task: starts a draft, approves, ends a pause, or records that the assignee started.",
    "start",
  ),
  acts("finishTask", "The work is done, or accepted.", "done", withResult, ({ result }) => result),
  decides("declineTask", "Declines a task.", "decline"),
  decides("refuseTask", "Refuses an approval, or work that was handed in.", "refuse"),
  decides("cancelTask", "Ends it, and what runs of it.", "cancel"),
  decides("retryTask", "Has it done again, or asks again for what a hook refused.", "retry"),
  decides("pauseTask", "Pauses it: its assignee stops until it is resumed.", "pause"),
  decides("resumeTask", "Ends a pause.", "resume"),
  acts(
    "assignTask",
    "Assigns it to another runner or person.",
    "assign",
    z.strictObject({ assignTo: who }),
    ({ assignTo }) => assignTo,
  ),
  acts(
    "setTaskDeadline",
    "Sets or takes away its deadline.",
    "deadline",
    z.strictObject({ deadline: due.nullable().describe("null: none.") }),
    ({ deadline }) => dueText(deadline ?? undefined) ?? "none",
  ),
  says("askAboutTask", "A question from the assignee, or to the assignee.", "ask"),
  says("noteOnTask", "A word on it, passed on to the other side.", "note"),
];

/** What is no time is refused by the command, with how it is written. */
function dueText(given: string | number | undefined): string | undefined {
  if (typeof given !== "number") return given;
  return Math.abs(given) <= 8.64e15 ? new Date(given).toISOString() : String(given);
}
