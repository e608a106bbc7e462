/** Missions: plans that are carried out, the expectations of their tasks, the gates between groups, and when they start by themselves. */
import { z } from "zod";
import { type Assessment, assessment } from "../../domain/orchestrator/assessment.js";
import { type Mission, type MissionReport, mission, missionReport } from "../../domain/orchestrator/mission.js";
import { TASK_STATUSES, type Task, task } from "../../domain/orchestrator/task.js";
import { ownPoint } from "../point.js";

const exampleTask: Task = {
  id: "t_1",
  version: 3,
  title: "Compile",
  description: "make all",
  assignTo: "build",
  status: "review",
  priority: 0,
  retryPolicy: { maxRetries: 2, backoffMs: 0 },
  attempt: 1,
  retries: 0,
  createdAt: 1_767_225_600_000,
  startedAt: 1_767_225_601_000,
  changedAt: 1_767_225_640_000,
  createdBy: "mission:m_1",
  missionId: "m_1",
  expectations: [{ file: "dist/app.js", minBytes: 1 }],
  result: { ok: true, output: "done", exitCode: 0, durationMs: 39_000 },
};
const exampleMission: Mission = {
  id: "m_1",
  version: 1,
  planId: "nightly",
  title: "Nightly build",
  plan: { groups: [{ name: "build", tasks: [{ id: "compile", assignTo: "build" }], gate: { name: "quality" } }] },
  status: "running",
  createdAt: 1_767_225_600_000,
  createdBy: "web:1 (Ada)",
  groups: [{ name: "build", status: "open" }],
  gates: [{ name: "quality", group: "build", changes: 0 }],
  taskIds: { compile: "t_1" },
  tasksCreated: true,
};
const exampleAssessment: Assessment = {
  taskId: "t_1",
  attempt: 1,
  passed: true,
  globalScore: 1,
  checks: [
    {
      ...{ name: "file dist/app.js", kind: "file", passed: true, score: 1, weight: 1 },
      required: true,
      feedback: "dist/app.js is there",
      latencyMs: 1,
    },
  ],
  feedback: "",
  startedAt: 1_767_225_640_000,
  endedAt: 1_767_225_640_001,
};
const exampleReport: MissionReport = {
  missionId: "m_1",
  planId: "nightly",
  title: "Nightly build",
  status: "done",
  startedAt: 1_767_225_600_000,
  endedAt: 1_767_225_640_000,
  durationMs: 40_000,
  workMs: 39_000,
  allPassed: true,
  avgScore: 1,
  retries: 0,
  counts: { done: 1 },
  tasks: [],
  gates: [],
  files: [],
};

export const missionExecute = ownPoint({
  name: "mission:execute",
  model: "lifecycle",
  mutable: ["mission.title", "mission.plan", "mission.deadline"],
  payload: z.object({ missionId: z.string(), mission, taskCount: z.number().int() }),
  summary:
    "Fires when a mission is about to start. A veto leaves the mission blocked, with the hook and the reason; /mission retry asks again.",
  example: { missionId: "m_1", mission: { ...exampleMission, status: "pending" as const }, taskCount: 1 },
});

export const missionComplete = ownPoint({
  name: "mission:complete",
  model: "lifecycle",
  mutable: [],
  payload: z.object({ missionId: z.string(), mission, allPassed: z.boolean(), report: missionReport }),
  summary:
    "Fires when all tasks of a mission ended, or the mission was cancelled; with the report. A veto leaves the mission blocked; nothing vetoes a cancellation.",
  example: { missionId: "m_1", mission: exampleMission, allPassed: true, report: exampleReport },
});

export const assessmentRun = ownPoint({
  name: "assessment:run",
  model: "lifecycle",
  mutable: ["task.title", "task.description", "task.expectations", "task.result"],
  payload: z.object({ taskId: z.string(), task }),
  summary:
    "Fires when the result of a task is about to be checked. A veto skips the check and leaves the task in review for a person, never done.",
  example: { taskId: "t_1", task: exampleTask },
});

export const assessmentComplete = ownPoint({
  name: "assessment:complete",
  model: "lifecycle",
  mutable: ["passed", "assessment.globalScore", "assessment.checks", "assessment.feedback"],
  payload: z.object({ taskId: z.string(), task, assessment, passed: z.boolean() }),
  summary:
    "Fires when the result of a task was checked. A hook may change the verdict before it counts, or leave the verdict to a person.",
  example: { taskId: "t_1", task: exampleTask, assessment: exampleAssessment, passed: true },
});

export const qualityGate = ownPoint({
  name: "quality:gate",
  model: "lifecycle",
  mutable: [],
  payload: z.object({
    missionId: z.string(),
    gateName: z.string(),
    avgScore: z.number().optional(),
    allPassed: z.boolean(),
    tasks: z.array(
      z.object({ taskId: z.string(), title: z.string(), status: z.enum(TASK_STATUSES), score: z.number().optional() }),
    ),
    /** Whether all that the plan asks for is so. */
    verdict: z.enum(["passed", "held"]),
    /** The part that is not. */
    reason: z.string().optional(),
  }),
  summary:
    "Fires when a quality gate was checked and its verdict changed. A veto holds the gate until a person releases it or the verdict changes again; `after` gets only verdicts that no veto holds.",
  example: {
    missionId: "m_1",
    gateName: "quality",
    avgScore: 1,
    allPassed: true,
    tasks: [{ taskId: "t_1", title: "Compile", status: "done", score: 1 }],
    verdict: "passed",
  },
});

export const scheduleTrigger = ownPoint({
  name: "schedule:trigger",
  model: "lifecycle",
  mutable: [],
  payload: z.object({
    scheduleId: z.string(),
    /** The id that the mission has if it starts. */
    missionId: z.string(),
    expression: z.string(),
    planId: z.string(),
    /** ms since the epoch; after a time of being down, not now. */
    dueAt: z.number(),
  }),
  summary: "Fires when the time of a schedule came. A veto lets this time pass; the next one comes all the same.",
  example: {
    scheduleId: "nightly",
    missionId: "m_1",
    expression: "0 3 * * *",
    planId: "nightly",
    dueAt: 1_767_236_400_000,
  },
});

export const missionPoints = [
  missionExecute,
  missionComplete,
  assessmentRun,
  assessmentComplete,
  qualityGate,
  scheduleTrigger,
] as const;
