/** Whether a task's result is what was expected: one verdict an attempt, with what each expectation said. */
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
  /** Without it nothing passes. */
  required: z.boolean(),
  /** What was found, for the person or model that does it again. */
  feedback: z.string(),
  /** It could not be checked: nothing is known about the result. It does not pass. */
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

/** What the ids of dispatches about the assessment of a task's attempt begin with. */
export const assessmentId = ({ id, attempt }: Pick<Task, "id" | "attempt">) => `assess_${id}_${attempt}`;

/** What hooks let pass of an assessment, and are notified of (`after`): that it starts, and its verdict. */
export type PassedAssessment = { taskId: string; attempt: number } & (
  | { point: "assessment:run"; payload: { taskId: string; task: Task } }
  | {
      point: "assessment:complete";
      payload: { taskId: string; task: Task; assessment: Assessment; passed: boolean };
    }
);

export interface AssessmentStore {
  /** One an attempt: a second one for the same attempt replaces nothing, and the first is given back. */
  keep(assessment: Assessment): Promise<Assessment>;
  get(taskId: string, attempt: number): Promise<Assessment | undefined>;
  /** The assessments of one task, oldest first. */
  list(taskId: string): Promise<Assessment[]>;
  /** Hooks let it pass; with the work that follows. False for a second one of the same attempt and point: nothing is written. */
  pass(passed: PassedAssessment, at: number, pending: readonly NewPending[]): Promise<boolean>;
  /** What hooks let pass: it is not asked about again. */
  passed(taskId: string, attempt: number, point: PassedAssessment["point"]): Promise<PassedAssessment | undefined>;
  /** Ended before this time; resolves with how many are gone. */
  sweep(before: number): Promise<number>;
}
