/** Input and output types of checks. A check that rejects is a broken check. Each kind of expectation has a file beside this one. */
import type { Models } from "../../../domain/model.js";
import type { Task } from "../../../domain/orchestrator/task.js";
import type { GuardedRequest, GuardedResponse } from "../../../lib/outgoing/request.js";
import type { Processes } from "../../../lib/process/process.js";

export interface CheckDeps {
  processes: Pick<Processes, "run">;
  models: Models;
  /** Guarded: only to destinations that the configuration allows for requests of hooks. */
  request(url: string, request: GuardedRequest): Promise<GuardedResponse>;
  /** The base folder of relative paths. */
  folder: string;
}

export interface CheckContext extends CheckDeps {
  task: Task;
  timeoutMs: number;
  /** The part of `timeoutMs` that the evaluation of a condition may take, without the start of its program. */
  conditionMs: number;
  /** Aborts at the time-out, too. */
  signal: AbortSignal;
}

/** `broken`: nothing is known about the result, because it could not be looked at. */
export interface Found {
  passed: boolean;
  /** 1 or 0 by `passed` when absent. */
  score?: number;
  feedback: string;
  broken?: boolean;
  /** Without the start of a program; the whole check when absent. */
  tookMs?: number;
}

export const so = (feedback: string): Found => ({ passed: true, feedback });
export const notSo = (feedback: string): Found => ({ passed: false, feedback });
