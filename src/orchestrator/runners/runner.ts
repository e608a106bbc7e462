/** Runners do a task's work by themselves: a program, a request, a model. People are not run, but asked (`../asked.ts`). */
import type { Task, TaskResult } from "../../domain/orchestrator/task.js";
import { readJson } from "../../lib/validation/json-depth.js";

export interface Job {
  task: Task;
  runId: string;
  /** Aborts at the deadline (with a `TimeoutError`), when the task is taken away, and when the gateway stops. */
  signal: AbortSignal;
  /** The limit of kept output. */
  maxBytes: number;
  progress(shown: Progress): void;
}

/** The progress that a card shows while the work runs; an absent field stays as it was. */
export interface Progress {
  /** 0 to 100. */
  percent?: number;
  /** The current activity. */
  now?: string;
  /** The latest lines of output. */
  output?: string;
}

/** timed_out, interrupted: the run was ended, and its result is its output up to then. */
export interface Ending {
  how: "ended" | "timed_out" | "interrupted";
  result: Omit<TaskResult, "durationMs">;
}

/** Never rejects; resolves soon after its signal aborts. */
export type Runner = (job: Job) => Promise<Ending>;

export function howOf(signal: AbortSignal): Ending["how"] {
  if (!signal.aborted) return "ended";
  return signal.reason instanceof Error && signal.reason.name === "TimeoutError" ? "timed_out" : "interrupted";
}

export const failedEnding = (error: string, signal: AbortSignal, output = ""): Ending => ({
  how: howOf(signal),
  result: { ok: false, output, error },
});

/** The description of the task for the work: on standard input, in a request's body. */
export function briefOf({ task, runId }: Pick<Job, "task" | "runId">): Record<string, unknown> {
  const { id, title, description, group, missionId, input, feedback, lastError, attempt, deadline } = task;
  return {
    ...{ id, runId, attempt, title, description },
    group,
    missionId,
    input,
    feedback,
    lastError,
    deadline: deadline === undefined ? undefined : new Date(deadline).toISOString(),
  };
}

/** The output as data, when the whole output is a JSON object or list; undefined otherwise. */
export function dataOf(text: string): unknown {
  return /^\s*[{[]/.test(text) ? readJson(text) : undefined;
}
