/** A mission: a plan that is being carried out. Its tasks are rows of their own; this row records which groups of the plan were opened. */
import { z } from "zod";
import { address } from "../chat/address.js";
import type { NewPending } from "../pending.js";
import { plan } from "./plan.js";
import { TASK_STATUSES, task, taskHold } from "./task.js";

/**
 * pending: not started · running · held: a gate is not open, and nothing else can go on · blocked: a hook refused it (`hold` names it)
 * · the rest are ends.
 */
export const MISSION_STATUSES = ["pending", "running", "held", "blocked", "done", "failed", "cancelled"] as const;
export type MissionStatus = (typeof MISSION_STATUSES)[number];

export function isMissionOver(status: MissionStatus): boolean {
  return status === "done" || status === "failed" || status === "cancelled";
}

export const OPEN_MISSION_STATUSES: readonly MissionStatus[] = MISSION_STATUSES.filter((one) => !isMissionOver(one));

/** waiting: for groups before it · open: its tasks may go · passed: groups behind it may start · failed: they may never start. */
export const groupState = z.object({
  name: z.string(),
  status: z.enum(["waiting", "open", "passed", "failed"]),
  openedAt: z.number().optional(),
  endedAt: z.number().optional(),
});
export type GroupState = z.output<typeof groupState>;

export const gateState = z.object({
  name: z.string(),
  group: z.string(),
  /** Absent until the gate was checked. */
  verdict: z.enum(["passed", "held"]).optional(),
  /** How often the verdict changed. */
  changes: z.number().int(),
  at: z.number().optional(),
  avgScore: z.number().optional(),
  allPassed: z.boolean().optional(),
  /** The condition that does not hold. */
  reason: z.string().optional(),
  /** A hook holds the gate although all conditions of the plan hold. */
  veto: z.object({ by: z.string(), reason: z.string() }).optional(),
  /** A person opened the gate. */
  released: z.object({ by: z.string(), reason: z.string(), at: z.number() }).optional(),
});
export type GateState = z.output<typeof gateState>;

/** Whether the groups behind the gate may start. */
export function isGateOpen({ verdict, veto, released }: GateState): boolean {
  return released !== undefined || (verdict === "passed" && veto === undefined);
}

export const taskReport = z.object({
  taskId: z.string(),
  /** Its name in the plan. */
  name: z.string(),
  title: z.string(),
  group: z.string(),
  status: z.enum(TASK_STATUSES),
  assignTo: z.string(),
  earlierAssignees: z.array(z.string()).optional(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  durationMs: z.number().optional(),
  attempts: z.number().int(),
  retries: z.number().int(),
  score: z.number().optional(),
  /** The task is done, and its expectations were not found to hold: a person accepted it. */
  isUnchecked: z.literal(true).optional(),
  /** The last words of a result, an error, or why it never ran; cut. */
  outcome: z.string().optional(),
  files: z.array(z.string()),
});
export type TaskReport = z.output<typeof taskReport>;

export const missionReport = z.object({
  missionId: z.string(),
  planId: z.string(),
  title: z.string(),
  status: z.enum(MISSION_STATUSES),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** From start to end of the mission, with the time that it waited for gates and people. */
  durationMs: z.number().optional(),
  /** The sum over all tasks. */
  workMs: z.number(),
  allPassed: z.boolean(),
  avgScore: z.number().optional(),
  retries: z.number().int(),
  counts: z.record(z.string(), z.number()),
  tasks: z.array(taskReport),
  gates: z.array(gateState),
  files: z.array(z.string()),
});
export type MissionReport = z.output<typeof missionReport>;

export const mission = z.object({
  id: z.string(),
  /** Counts changes; a change is written only over the version it was made from. */
  version: z.number().int(),
  planId: z.string(),
  title: z.string(),
  plan,
  status: z.enum(MISSION_STATUSES),
  createdAt: z.number(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  deadline: z.number().optional(),
  createdBy: z.string(),
  scheduleId: z.string().optional(),
  groups: z.array(groupState),
  gates: z.array(gateState),
  /** By name in the plan. */
  taskIds: z.record(z.string(), z.string()),
  /** Its tasks are stored as rows. */
  tasksCreated: z.boolean(),
  hold: taskHold.omit({ wanted: true }).optional(),
  /** A person ended the mission: its remaining tasks are cancelled, then the mission itself ends. */
  cancel: z.object({ by: z.string(), reason: z.string().optional(), at: z.number() }).optional(),
  /** Why it is in its state, in a sentence. */
  reason: z.string().optional(),
  /** Where it is shown. */
  address: address.optional(),
  /** The origin of the mission, for hooks' chains of causes. */
  cause: task.shape.cause,
});
export type Mission = z.output<typeof mission>;

export interface MissionRow {
  mission: Mission;
  /** The report as it was at the end of the mission. */
  report?: MissionReport;
}

export interface MissionFilter {
  status?: readonly MissionStatus[];
  planId?: string;
  /** Newest first. */
  limit: number;
}

export interface MissionStore {
  /** With the work that follows. False when the id is there: nothing is written. */
  insert(row: MissionRow, pending?: readonly NewPending[]): Promise<boolean>;
  /** With the work that follows. False when the stored version is not `mission.version - 1`: nothing is written. */
  commit(row: MissionRow, pending?: readonly NewPending[]): Promise<boolean>;
  get(id: string): Promise<MissionRow | undefined>;
  list(filter: MissionFilter): Promise<Mission[]>;
  /** Ids of the missions that have not ended. */
  open(): Promise<string[]>;
  /** Deletes missions that ended before this time; resolves with how many are gone. */
  sweep(before: number): Promise<number>;
}
