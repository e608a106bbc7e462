/** Whether a task's result is as expected: one verdict an attempt, with the result of each expectation. */
import { z } from "zod";
import type { NewPending } from "../pending.js";
import type { Task } from "./task.js";

export const check = z.object({
  name: z.string(),
  kind: z.string(),
  passed: z.boolean(),
  /** 0 to 1; a check that is only so or not so gives 0 or 1. */
  score: z.number().min(0).max(1),
  weight: z.number(),
  /** Without it the result does not pass. */
  required: z.boolean(),
  /** The finding, for the person or model that does the task again. */
  feedback: z.string(),
  /** The expectation could not be checked: nothing is known about the result. It does not pass. */
  broken: z.boolean().optional(),
  latencyMs: z.number(),
});
export type Check = z.output<typeof check>;

export const assessment = z.object({
  taskId: z.string(),
  /** The attempt of the task, from 1. */
  attempt: z.number().int(),
  passed: z.boolean(),
  /** The weighted mean of the checks, 0 to 1; 1 where nothing was expected. */
  globalScore: z.number().min(0).max(1),
  checks: z.array(check),
  /** Feedback for the runner of the next attempt; empty when it passed. */
  feedback: z.string(),
  /** ms since the epoch. */
  startedAt: z.number(),
  endedAt: z.number(),
  /** A hook at `assessment:complete` changed the result that the checks gave. */
  byHook: z.boolean().optional(),
});
export type Assessment = z.output<typeof assessment>;

/** The start of the ids of dispatches about the assessment of a task's attempt. */
export const assessmentId = ({ id, attempt }: Pick<Task, "id" | "attempt">) => `assess_${id}_${attempt}`;

/** The events of an assessment that hooks let pass, and are notified of (`after`): its start, and its verdict. */
export type PassedAssessment = { taskId: string; attempt: number } & (
  | { point: "assessment:run"; payload: { taskId: string; task: Task } }
  | {
      point: "assessment:complete";
      payload: { taskId: string; task: Task; assessment: Assessment; passed: boolean };
    }
);

export interface AssessmentStore {
  /** Keeps one assessment an attempt: a second one for the same attempt replaces nothing. Resolves with the first. */
  keep(assessment: Assessment): Promise<Assessment>;
  get(taskId: string, attempt: number): Promise<Assessment | undefined>;
  /** The assessments of one task, oldest first. */
  list(taskId: string): Promise<Assessment[]>;
  /**
   * Records that hooks let the event pass, with the work that follows. False for a second one of the same attempt and point: nothing is
   * written.
   */
  pass(passed: PassedAssessment, at: number, pending: readonly NewPending[]): Promise<boolean>;
  /** The event that hooks let pass: they are not asked about it again. */
  passed(taskId: string, attempt: number, point: PassedAssessment["point"]): Promise<PassedAssessment | undefined>;
  /** Deletes assessments that ended before this time; resolves with how many are gone. */
  sweep(before: number): Promise<number>;
}
