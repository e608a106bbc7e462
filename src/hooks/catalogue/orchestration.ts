/** The orchestration family: the states of tasks. Every point fires on every way to the state that it is named after. */
import { z } from "zod";
import {
  TASK_STATUSES,
  type Task,
  task,
  taskAssessment,
  taskDraft,
  taskResult,
} from "../../domain/orchestrator/task.js";
import { ownPoint } from "../point.js";

const example: Task = {
  id: "t_1",
  version: 3,
  title: "Deploy the website",
  description: "Build main and put it on the web server.",
  assignTo: "deployer",
  priority: 0,
  retryPolicy: { maxRetries: 1, backoffMs: 30_000 },
  status: "in_progress",
  attempt: 1,
  retries: 0,
  createdAt: 1_767_225_600_000,
  startedAt: 1_767_225_605_000,
  changedAt: 1_767_225_605_000,
  createdBy: "web:1 (Ada)",
};
const result = { ok: true, output: "deployed", exitCode: 0, durationMs: 4200 };

export const taskCreate = ownPoint({
  name: "task:create",
  model: "lifecycle",
  mutable: Object.keys(taskDraft.shape).filter((field) => field !== "id" && field !== "missionId"),
  payload: taskDraft,
  summary: "Fires when a task is created. `before` may change its fields or stop it; at `after` the task is on disk.",
  example: { title: example.title, description: example.description, assignTo: example.assignTo },
});

export const taskSpawn = ownPoint({
  name: "task:spawn",
  model: "lifecycle",
  mutable: [],
  payload: z.object({ task, agent: z.string() }),
  summary:
    "Fires when a task is given to its assignee (a runner or a person). `before` may stop that; then the task is blocked.",
  example: { task: { ...example, status: "assigned" }, agent: "deployer" },
});

export const taskTransition = ownPoint({
  name: "task:transition",
  model: "lifecycle",
  mutable: [],
  payload: z.object({
    taskId: z.string(),
    from: z.enum(TASK_STATUSES),
    to: z.enum(TASK_STATUSES),
    task,
    by: z.string().optional(),
    reason: z.string().optional(),
  }),
  summary:
    "Fires at every change of a task's state. `before` may stop the change: the task is blocked, with the reason, or, when a person asked, stays as it is. A step into `blocked` that follows from a veto reaches `after` only.",
  example: {
    taskId: "t_1",
    from: "assigned",
    to: "in_progress",
    task: { ...example, status: "assigned" },
    by: "runner:deployer",
  },
});

export const taskComplete = ownPoint({
  name: "task:complete",
  model: "lifecycle",
  mutable: ["result"],
  payload: z.object({ taskId: z.string(), task, result: taskResult.optional(), assessment: taskAssessment.optional() }),
  summary: "Fires when a task reaches done, by any path. `before` may change the result or stop the step.",
  example: { taskId: "t_1", task: example, result },
});

export const taskFail = ownPoint({
  name: "task:fail",
  model: "lifecycle",
  mutable: ["reason"],
  payload: z.object({ taskId: z.string(), task, result: taskResult.optional(), reason: z.string().optional() }),
  summary: "Fires when a task reaches failed, by any path. `before` may change the reason or stop the step.",
  example: { taskId: "t_1", task: example, reason: "the program exited with 1" },
});

export const taskRetry = ownPoint({
  name: "task:retry",
  model: "lifecycle",
  mutable: [],
  payload: z.object({ taskId: z.string(), task, attempt: z.number().int(), maxRetries: z.number().int() }),
  summary:
    "Fires when a task is about to start again: by its retry policy, because a person asked for it, or because the end of the gateway interrupted it. `before` may stop it: a failed task stays failed then, an interrupted one is blocked.",
  example: { taskId: "t_1", task: { ...example, lastError: "the program exited with 1" }, attempt: 1, maxRetries: 1 },
});

export const orchestratorTick = ownPoint({
  name: "orchestrator:tick",
  model: "lifecycle",
  isSync: true,
  mutable: [],
  payload: z.object({
    pending: z.number().int(),
    running: z.number().int(),
    done: z.number().int(),
    failed: z.number().int(),
  }),
  summary:
    "Fires every five seconds, synchronously. A `before` that cancels keeps everything from starting until the next tick.",
  example: { pending: 3, running: 2, done: 10, failed: 1 },
});

export const orchestratorShutdown = ownPoint({
  name: "orchestrator:shutdown",
  model: "lifecycle",
  mutable: [],
  vetoable: false,
  payload: z.object({}),
  summary:
    "Fires when the gateway stops and nothing is closed yet. At `before` runs are still active, at `after` they have ended.",
  example: {},
});

export const orchestrationPoints = [
  taskCreate,
  taskSpawn,
  taskTransition,
  taskComplete,
  taskFail,
  taskRetry,
  orchestratorTick,
  orchestratorShutdown,
] as const;
