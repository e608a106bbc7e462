/** /api/v1/tasks: work for programs, agents and people, and its results. */
import { z } from "zod";
import { task as storedTask, TASK_STATUSES } from "../../domain/orchestrator/task.js";
import { page, pageNumber, pageSize, time } from "./answers.js";
import { endpoint } from "./endpoint.js";

const id = z.object({ id: z.string().min(1).max(200).describe("The id of a task.") });
const who = z
  .string()
  .min(1)
  .max(200)
  .describe("A runner of `orchestrator.runners`, `person:<platform>:<user id>`, or `me`.");
const length = z.string().max(40).describe("A duration such as 30s, 10m or 2h.");
const due = z
  .union([z.string().max(60), z.number()])
  .describe("The deadline, such as 2h, 2026-12-24T18:00Z, or milliseconds since the epoch.");
const reason = z.string().min(1).max(4_000).describe("The reason, for the history of the task.");

const { address: _, cards: __, cause: ___, run: ____, assessmentRound: _____, result, ...facts } = storedTask.shape;

const task = z.object({
  ...facts,
  run: z.object({ id: z.string(), startedAt: time }).optional(),
  result: z
    .object({ ...result.unwrap().partial().shape, ok: z.boolean(), durationMs: z.number() })
    .optional()
    .describe("The result; its output only for people who may give its runner work."),
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
  title: z.string().trim().min(1).max(300).describe("The title, in a line."),
  assignTo: who,
  description: z.string().max(20_000).optional().describe("What is to be done, in full."),
  expectations: z
    .array(z.record(z.string(), z.unknown()))
    .max(50)
    .optional()
    .describe("What must be true at the end, as in a plan; checks by programs are allowed in plans only."),
  dependsOn: z.array(z.string()).max(200).optional().describe("The ids of tasks that must be done first."),
  group: z.string().max(200).optional().describe("A word by which tasks are listed together."),
  maxDuration: length.optional().describe("How long one attempt may take, such as 10m."),
  retryPolicy: z
    .strictObject({ maxRetries: z.int().min(0).max(100), backoff: length.optional() })
    .optional()
    .describe("How often a failed task is tried again, and the wait before the first retry; the wait doubles."),
  deadline: due.optional(),
  priority: z.int().optional().describe("The priority: a task with a higher number starts first; 0 when absent."),
  needsApproval: z.boolean().optional().describe("The task waits until a person approves it."),
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

const withText = z.strictObject({ text: z.string().min(1).max(4_000).describe("The text, for the other side.") });
const says = (name: string, summary: string, action: string) =>
  acts(name, summary, action, withText, (body) => body.text);

const withResult = z
  .strictObject({ result: z.string().min(1).max(100_000).optional().describe("What the work resulted in.") })
  .prefault({});

export const taskEndpoints = [
  endpoint({
    method: "GET",
    path: "/tasks",
    id: "listTasks",
    summary: "Lists tasks, newest first.",
    query: z.object({
      filter: z
        .string()
        .max(200)
        .default("open")
        .describe("Only tasks with this status, or with this part of a title or id; `open` or `all`."),
      group: z.string().max(200).optional().describe("Only tasks of this group."),
      page: pageNumber,
      limit: pageSize(200, 100),
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
    summary: "Creates a task for a runner or a person.",
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
    summary: "Shows one task with its history.",
    params: id,
    answer: detail,
    command: ({ params }) => ({ name: "task", options: { action: "show", id: params.id } }),
  }),
  decides("startTask", "Starts a draft, or reports that the caller has started a task.", "start"),
  decides("approveTask", "Approves a task that waits for approval.", "approve"),
  acts("finishTask", "Reports the work on a task as done.", "done", withResult, ({ result }) => result),
  acts(
    "acceptTask",
    "Accepts the work on a task that is in review, without a further check.",
    "accept",
    withResult,
    ({ result }) => result,
  ),
  decides("declineTask", "Declines a task that was given to the caller.", "decline"),
  decides("refuseTask", "Refuses to approve a task, or refuses its result.", "refuse"),
  decides("cancelTask", "Cancels a task and ends what runs for it.", "cancel"),
  decides("retryTask", "Starts a task again, or asks again for the step that a hook refused.", "retry"),
  decides("pauseTask", "Pauses a task: its assignee stops until it is resumed.", "pause"),
  decides("resumeTask", "Continues a task that was paused.", "resume"),
  acts(
    "assignTask",
    "Assigns a task to another runner or person.",
    "assign",
    z.strictObject({ assignTo: who }),
    ({ assignTo }) => assignTo,
  ),
  acts(
    "setTaskDeadline",
    "Sets or removes the deadline of a task.",
    "deadline",
    z.strictObject({
      deadline: due
        .nullable()
        .describe("The deadline, such as 2h, 2026-12-24T18:00Z, or milliseconds since the epoch; null removes it."),
    }),
    ({ deadline }) => dueText(deadline ?? undefined) ?? "none",
  ),
  says("askAboutTask", "Sends a question about a task, from the assignee or to the assignee.", "ask"),
  says("noteOnTask", "Adds a note to a task and passes it on to the other side.", "note"),
];

/** The command refuses a number that is no time, and shows how a time is written. */
function dueText(given: string | number | undefined): string | undefined {
  if (typeof given !== "number") return given;
  return Math.abs(given) <= 8.64e15 ? new Date(given).toISOString() : String(given);
}
