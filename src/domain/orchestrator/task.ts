/**
 * A task: a piece of work with an assignee, and the one table of its state changes. Every change of its state goes through
 * `transition` (src/orchestrator/tasks/transition.ts); that function checks the change against the table here.
 *
 * How missions and assessments hook in (functions passed in by `app/parts.ts`): `Assess` judges a task that came into review, `TaskChanged`
 * is called for every one that changed. A mission creates its tasks with ids of its own (creating one twice changes nothing), as drafts
 * where a gate must open first, and lets them go by `draft → pending`.
 */
import { z } from "zod";
import { LATEST_TIME, parseInstant } from "../../lib/time/instant.js";
import { address } from "../chat/address.js";
import type { Role } from "../chat/identity.js";
import { CAUSE_KINDS, type Cause } from "../journal.js";
import { expectation } from "./expectation.js";
import { title } from "./title.js";

export const TASK_STATUSES = [
  "draft",
  "pending",
  "assigned",
  "in_progress",
  "review",
  "awaiting_approval",
  "blocked",
  "paused",
  "done",
  "failed",
  "cancelled",
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** The only transitions there are. */
export const TASK_TRANSITIONS: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  draft: ["pending", "cancelled"],
  /** `failed` and `done` without a run: a task that never started may be given up or done elsewhere. */
  pending: ["assigned", "awaiting_approval", "blocked", "paused", "done", "failed", "cancelled"],
  awaiting_approval: ["pending", "failed", "cancelled"],
  assigned: ["in_progress", "pending", "review", "done", "failed", "blocked", "paused", "cancelled"],
  /** `pending`: a retry, or a task that was given back. */
  in_progress: ["review", "done", "failed", "pending", "blocked", "paused", "cancelled"],
  review: ["done", "failed", "pending", "blocked", "cancelled"],
  /** A veto, a failed dependency or a person holds the task; `/task retry` asks again for the refused state. */
  blocked: ["pending", "review", "done", "failed", "cancelled"],
  paused: ["pending", "done", "failed", "cancelled"],
  done: [],
  failed: ["pending"],
  cancelled: ["pending"],
};

export function mayBecome(from: TaskStatus, to: TaskStatus): boolean {
  return TASK_TRANSITIONS[from].includes(to);
}

/** The task has ended; a person may still retry a failed or cancelled one. */
export function isEnded(status: TaskStatus): boolean {
  return status === "done" || status === "failed" || status === "cancelled";
}

export const OPEN_TASK_STATUSES: readonly TaskStatus[] = TASK_STATUSES.filter((status) => !isEnded(status));

/** Shown in place of its runner's words, where people without the role read along. */
export function saidElsewhere(id: string, roleNeeded: Role): string {
  const whom = roleNeeded === "owner" ? "an owner" : `an ${roleNeeded} or an owner`;
  return `Its output is for ${whom}, and this chat has other readers: \`/task show ${id}\` in a direct chat with the bot shows it.`;
}

export const retryPolicy = z.object({
  /** The number of attempts after the first; 0 = none. Attempts that repeat one which a crash cut off count, too. */
  maxRetries: z.int().min(0).max(100).default(0),
  /** ms before the first retry; it doubles, up to an hour. */
  backoffMs: z.int().nonnegative().default(0),
});
export type RetryPolicy = z.output<typeof retryPolicy>;

/** A moment: ms since the epoch, or an ISO time. A text that is no date is refused. */
const moment = z.union([
  z.number().refine((ms) => Math.abs(ms) <= LATEST_TIME, "expected a time before the year 2200, in milliseconds"),
  z.string().transform((text, context) => {
    const ms = parseInstant(text, "UTC");
    if (ms !== undefined && ms <= LATEST_TIME) return ms;
    context.addIssue({ code: "custom", message: `expected a time such as 2026-11-21T18:00Z, got "${text}"` });
    return z.NEVER;
  }),
]);

/**
 * The fields that a task is created from. Fields outside of the seed's list (its place in a mission, the chat that shows it) come beside
 * it, in `TaskOrigin`.
 */
export const taskSpec = z.object({
  title,
  description: z.string().max(20_000).default(""),
  /** A runner of `orchestrator.runners`, or `person:<platform>:<user id>`. */
  assignTo: z.string().min(1, "a task needs an assignee"),
  /** Judged by `Assess` when the work is handed in. */
  expectations: z.array(expectation).optional(),
  /** Ids of tasks that must be done first. */
  dependsOn: z.array(z.string()).optional(),
  group: z.string().optional(),
  /** ms that one attempt may take. */
  maxDuration: z.number().positive().optional(),
  retryPolicy: retryPolicy.optional(),
  deadline: moment.optional(),
  /** A task with a higher priority goes first; the default is 0. */
  priority: z.int().optional(),
  /** Waits for an operator's `/task approve` first. */
  needsApproval: z.boolean().optional(),
  /** Names and words for hooks and for the runner's own input. */
  input: z.record(z.string(), z.unknown()).optional(),
});
export type TaskSpec = z.output<typeof taskSpec>;
export type TaskSpecInput = z.input<typeof taskSpec>;

const policy = z.object({ maxRetries: z.number(), backoffMs: z.number() });

/** The fields of a task as hooks see them: nothing is filled in and nothing checked, so that a task has this form on disk. */
const fields = {
  title: z.string(),
  description: z.string(),
  assignTo: z.string(),
  expectations: z.array(expectation).optional(),
  dependsOn: z.array(z.string()).optional(),
  group: z.string().optional(),
  maxDuration: z.number().optional(),
  needsApproval: z.boolean().optional(),
  input: z.record(z.string(), z.unknown()).optional(),
};

/** The payload of `task:create`; the result of a `before` hook is checked against `taskSpec`. */
export const taskDraft = z.object({
  ...fields,
  retryPolicy: policy.partial().optional(),
  deadline: z.union([z.number(), z.string()]).optional(),
  priority: z.number().optional(),
  /** Known from the start where the caller of `create` names it, and always in `after`. */
  id: z.string().optional(),
  missionId: z.string().optional(),
});
export type TaskDraft = z.output<typeof taskDraft>;

/** The result of an attempt. `output`: its last words, bounded. */
export const taskResult = z.object({
  ok: z.boolean(),
  output: z.string(),
  error: z.string().optional(),
  exitCode: z.number().nullable().optional(),
  httpStatus: z.number().optional(),
  /** Data that a program or a model gave as JSON. */
  data: z.unknown().optional(),
  files: z.array(z.string()).optional(),
  durationMs: z.number(),
});
export type TaskResult = z.output<typeof taskResult>;

/** The finding of `Assess`; further fields are its own. */
export const taskAssessment = z.looseObject({
  passed: z.boolean(),
  globalScore: z.number().optional(),
  /** Feedback for the next attempt. */
  feedback: z.string().optional(),
});
export type TaskAssessment = z.output<typeof taskAssessment>;

/** Why the task is blocked, and the state that was wanted. */
export const taskHold = z.object({
  /**
   * assignee: its runner is not configured any more · interruption: a run was cut off, or the gateway ended while hooks ran, and a person
   * has to decide what happens to the task.
   */
  kind: z.enum(["veto", "dependency", "person", "assignee", "interruption"]),
  by: z.string(),
  reason: z.string(),
  at: z.number(),
  /** The state that was refused: `/task retry` asks for it again. */
  wanted: z.enum(TASK_STATUSES).optional(),
  /** The hook point that refused. */
  point: z.string().optional(),
});
export type TaskHold = z.output<typeof taskHold>;

/**
 * One execution, safe to be started at least once: only the holder of the lease of this id runs it and reports for it. An execution that
 * was cut off and is started again is the same one and has the same id, by which the runner recognises it.
 */
export const taskRun = z.object({
  id: z.string(),
  startedAt: z.number(),
  /** Absent for a person, who needs no lease. */
  owner: z.string().optional(),
});

/** The end of the gateway cut a run off, and it has not ended since. */
export const taskInterruption = z.object({
  runId: z.string(),
  at: z.number(),
  /** How many crashes in a row did that; a stop is none. */
  crashes: z.number(),
});

export const task = z.object({
  id: z.string(),
  /** Counts changes; a change is written only over the version it was made from. */
  version: z.number(),
  ...fields,
  deadline: z.number().optional(),
  priority: z.number(),
  retryPolicy: policy,
  status: z.enum(TASK_STATUSES),
  /** How often it was started. */
  attempt: z.number(),
  /** How many of these starts were retries; `maxRetries` bounds them. */
  retries: z.number(),
  createdAt: z.number(),
  /** The first start. */
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** When the status changed. */
  changedAt: z.number(),
  createdBy: z.string(),
  /**
   * Present when a hook's step made the task: its texts with marks at the parts that came from messages, files or other systems
   * (lib/text/data-marks.ts).
   */
  marked: z.object({ title: z.string(), description: z.string().optional() }).optional(),
  /** The origin of the task; its depth cuts chains of hooks and tasks that make each other. */
  cause: z
    .object({
      kind: z.enum(CAUSE_KINDS),
      id: z.string(),
      depth: z.number(),
    })
    .optional(),
  missionId: z.string().optional(),
  /** The person or runner that works on it, as shown to people. */
  owner: z.string().optional(),
  /** Former assignees, since the task was first started: their output stays with it, for the roles that may read it. */
  earlierAssignees: z.array(z.string()).optional(),
  run: taskRun.optional(),
  interrupted: taskInterruption.optional(),
  result: taskResult.optional(),
  assessment: taskAssessment.optional(),
  /** From 2: a person had the same work judged again after a hook held it. The ids of the dispatches about the judgement end in it. */
  assessmentRound: z.number().optional(),
  /** The problems that the next attempt has to fix. */
  feedback: z.string().optional(),
  lastError: z.string().optional(),
  hold: taskHold.optional(),
  /** Why it is in its state, in a sentence. */
  reason: z.string().optional(),
  /** The operator who approved the task. */
  approvedBy: z.string().optional(),
  /** The conversation that it came from. */
  address: address.optional(),
  /**
   * The messages that show the task; `person`: the one with the buttons of its assignee; `former`: of a former assignee, who does not see
   * later changes; `undelivered`: how its delivery ended instead of being sent.
   */
  cards: z
    .array(
      z.object({
        id: z.string(),
        at: address,
        person: z.boolean().optional(),
        former: z.boolean().optional(),
        undelivered: z.object({ status: z.string(), reason: z.string().optional() }).optional(),
      }),
    )
    .optional(),
  /** The last note about the task. */
  lastNote: z.object({ by: z.string(), text: z.string(), at: z.number() }).optional(),
});
export type Task = z.output<typeof task>;

/** The card of the person whose turn it is, where it did not arrive. */
export function undeliveredCard({ status, cards }: Task) {
  return status === "assigned" ? cards?.find(({ person, undelivered }) => person && undelivered) : undefined;
}

/**
 * Why the card did not arrive, and how to send it. The reason of a card that was given up is in the platform's words; other reasons may be
 * in a hook's words, and commands show those.
 */
export function undeliveredWords({ id, undelivered }: NonNullable<ReturnType<typeof undeliveredCard>>): string {
  const { status, reason } = undelivered ?? {};
  if (status === "purged")
    return `its card was purged, and nothing more of it is sent; \`/hooks why ${id}\` shows by whom.`;
  if (status !== "dead") return `its card is ${status}; \`/hooks why ${id}\` shows why.`;
  return `${reason ?? "it was given up"}. Once that is fixed, \`/outbox retry ${id}\` sends it again; many bots cannot write to a person who never wrote to them.`;
}

/** The origin of a task, beside its spec. */
export interface TaskOrigin {
  /** `newId("t")`; made by the caller, so that creating it twice changes nothing. */
  id?: string;
  /** How often the caller that creates the task was started, where that is on disk: hooks at `task:create` see it. Absent: counted here. */
  attempt?: number;
  /** Above 1: the task was refused before, and is created again. The dispatch at `task:create` is another one then. */
  round?: number;
  status?: "draft" | "pending";
  missionId?: string;
  address?: Task["address"];
  marked?: Task["marked"];
}

/** The person or part that asks for a change, and why: in the journal, in the task's history, on its card. */
export interface Actor {
  /** `web:1 (Ann)`, `runner:build`, `mission:m_1`, `orchestrator`. */
  by: string;
  reason?: string;
  /** The cause of the actor's change, for hooks' chains of causes. */
  cause?: Cause;
}

export type Assessed =
  | { kind: "assessed"; assessment: TaskAssessment }
  /** The task stays in review, for a person to decide (`/task accept` or `/task retry`). */
  | { kind: "held"; by: string; reason: string; point?: string; crashes?: number }
  /** The task is not in review any more. */
  | { kind: "left" };

/**
 * Judges the result that was handed in. May be asked again for the same attempt after a crash. An error that it throws leaves the task in
 * review. `isInReview` is asked between two checks, which may take long.
 */
export type Assess = (task: Task, signal: AbortSignal, isInReview: () => Promise<boolean>) => Promise<Assessed>;

/** Called after the commit of every change except a note, and again for every one that a crash left pending. */
export type TaskChanged = (task: Task) => Promise<void>;
