/** Whether a task's result is what was expected: one verdict an attempt, with what each expectation said. */
import type { ExpectationKind } from "./expectation.js";

export interface Check {
  name: string;
  kind: ExpectationKind;
  passed: boolean;
  /** 0 to 1; a check that is only so or not so gives 0 or 1. */
  score: number;
  weight: number;
  /** Without it nothing passes. */
  required: boolean;
  /** What was found, for the person or model that does it again. */
  feedback: string;
  /** It could not be checked: nothing is known about the result. It does not pass. */
  broken?: boolean;
  latencyMs: number;
}

export interface Assessment {
  taskId: string;
  /** Of the task, from 1. */
  attempt: number;
  passed: boolean;
  /** The weighted mean of the checks, 0 to 1; 1 where nothing was expected. */
  globalScore: number;
  checks: readonly Check[];
  /** What whoever does it again is told; empty when it passed. */
  feedback: string;
  /** ms since the epoch. */
  startedAt: number;
  endedAt: number;
}

export interface AssessmentStore {
  /** One an attempt: a second one for the same attempt replaces nothing, and the first is given back. */
  keep(assessment: Assessment): Promise<Assessment>;
  get(taskId: string, attempt: number): Promise<Assessment | undefined>;
  /** Of one task, oldest first. */
  list(taskId: string): Promise<Assessment[]>;
}
