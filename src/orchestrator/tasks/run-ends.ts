/**
 * How runs ended, on disk before hooks are asked about it: after a crash they are asked again, under the same dispatch ids, and the program
 * does not run again. After too many such crashes the task waits for a person, as after those of a run.
 */
import type { KeyValueStore } from "../../domain/store.js";
import type { Task, TaskResult } from "../../domain/task.js";
import type { Ending } from "../runners/runner.js";
import type { Finish } from "./finish.js";

export interface RunEnds {
  /** How a run of this process ended. */
  conclude(task: Task, runId: string, ending: Ending, durationMs: number): Promise<void>;
  /** What an earlier process stored and did not conclude. Before anything starts. */
  recover(): Promise<void>;
}

export interface RunEndParts {
  keyValue: Pick<KeyValueStore, "list" | "set" | "delete">;
  get(id: string): Promise<Task | undefined>;
  finish: Pick<Finish, "concluded" | "interrupted">;
  maxCrashes(): number;
}

/** By task id. `attempt`: of the task. `crashes`: that came while hooks were asked about it. */
interface RunEnd {
  runId: string;
  attempt: number;
  ending: Ending;
  durationMs: number;
  crashes: number;
}

const SCOPE = "task.ends";

export function createRunEnds({ keyValue, get, finish, maxCrashes }: RunEndParts): RunEnds {
  async function ask(id: string, end: RunEnd): Promise<void> {
    await keyValue.set(SCOPE, id, end);
    await finish.concluded(id, end.runId, end.ending, end.durationMs);
  }

  async function askAgain(task: Task, end: RunEnd): Promise<void> {
    const crashes = end.crashes + 1;
    if ((task.interrupted?.crashes ?? 0) + crashes <= maxCrashes()) return ask(task.id, { ...end, crashes });
    const result: TaskResult = { ...end.ending.result, durationMs: Math.round(end.durationMs) };
    const why = "the gateway ended while hooks were asked about its end";
    await finish.interrupted(task, { actor: { by: "orchestrator" }, crashes, why, result });
  }

  return {
    async conclude({ id, attempt }, runId, ending, durationMs) {
      await ask(id, { runId, attempt, ending, durationMs, crashes: 0 });
      await keyValue.delete(SCOPE, id);
    },
    async recover() {
      for (const { key: id, value } of await keyValue.list(SCOPE, "")) {
        const end = value as RunEnd;
        const task = await get(id);
        // Else the crash came after the end was written.
        if (task?.status === "in_progress" && task.run?.id === end.runId && task.attempt === end.attempt)
          await askAgain(task, end);
        await keyValue.delete(SCOPE, id);
      }
    },
  };
}
