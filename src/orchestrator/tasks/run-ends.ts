/**
 * The ends of runs, on disk before hooks are asked about them: after a crash hooks are asked again, under the same ids, and the program
 * does not run again. After too many such crashes the task waits for a person, who has the hooks asked again or decides.
 */

import type { Task } from "../../domain/orchestrator/task.js";
import type { KeyValueStore } from "../../domain/store.js";
import type { Ending } from "../runners/runner.js";
import type { Finish } from "./finish.js";

export interface RunEnds {
  /** Stores the end of a run of this process, and concludes it. */
  conclude(task: Task, runId: string, ending: Ending, durationMs: number): Promise<void>;
  /** The ends of runs of these tasks that an earlier process stored and did not conclude. */
  left(tasks: readonly Task[]): Promise<ReadonlyMap<string, RunEnd>>;
}

export interface RunEndDeps {
  keyValue: Pick<KeyValueStore, "list" | "set" | "delete">;
  finish: Pick<Finish, "concluded">;
}

/** Stored by task id. `attempt`: the task's attempt. */
export interface RunEnd {
  runId: string;
  attempt: number;
  ending: Ending;
  durationMs: number;
}

const SCOPE = "task.ends";

export function createRunEnds({ keyValue, finish }: RunEndDeps): RunEnds {
  return {
    async conclude({ id, attempt }, runId, ending, durationMs) {
      const end: RunEnd = { runId, attempt, ending, durationMs };
      await keyValue.set(SCOPE, id, end);
      await finish.concluded(id, runId, ending, durationMs);
      await keyValue.delete(SCOPE, id);
    },
    async left(tasks) {
      const left = new Map<string, RunEnd>();
      const byId = new Map(tasks.map((task) => [task.id, task]));
      for (const { key: id, value } of await keyValue.list(SCOPE, "")) {
        const end = value as RunEnd;
        const task = byId.get(id);
        if (task?.run?.id === end.runId && task.attempt === end.attempt) left.set(id, end);
        // The crash came after the end was written.
        else await keyValue.delete(SCOPE, id);
      }
      return left;
    },
  };
}
