/**
 * The runs of this process: each has its run id and a lease, which is renewed until the run ends. A run is ended when its time is up,
 * when its task is taken away from it, when its lease is lost, and when the gateway stops.
 */

import type { Task } from "../domain/orchestrator/task.js";
import type { TaskStore } from "../domain/orchestrator/task-store.js";
import { untilWritten } from "../lib/concurrency/until-written.js";
import { within } from "../lib/concurrency/within.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock, Timer } from "../lib/time/clock.js";
import type { OrchestratorConfig } from "./config.js";
import { type Ending, failedEnding, type Progress, type Runner } from "./runners/runner.js";

export interface RunningDeps {
  store: Pick<TaskStore, "renew">;
  config(): Pick<OrchestratorConfig, "lease" | "max_output">;
  /** The progress of a task has changed. */
  progressed(taskId: string): void;
  mask(text: string): string;
  clock: Clock;
  logger: Logger;
}

export interface Run {
  task: Task;
  runId: string;
  runner: Runner;
  timeoutMs: number;
  ended(ending: Ending, durationMs: number): Promise<void>;
  /** The run holds no room any more. */
  over(): void;
}

export interface Running {
  startRun(run: Run): void;
  /** A change was written: a run whose task is not its own any more is ended. */
  committed(task: Task): void;
  progressOf(taskId: string): Progress | undefined;
  start(): void;
  /** Resolves when all have ended, or when the time is up and the runs that were ended have had their moment. */
  stop(graceMs: number): Promise<void>;
  readonly size: number;
}

interface Active {
  runId: string;
  stop: AbortController;
  progress: Progress;
  over: Promise<void>;
}

export function createRunning(deps: RunningDeps): Running {
  const { store, config, mask, clock, logger } = deps;
  const active = new Map<string, Active>();
  let renewal: Timer | undefined;
  const stopping = new AbortController();

  function startRun({ task, runId, runner, timeoutMs, ended, over }: Run): void {
    const stop = new AbortController();
    const startedAt = clock.monotonic();
    const deadline = clock.after(timeoutMs, () => stop.abort(timeoutError(timeoutMs)));
    const one: Active = { runId, stop, progress: {}, over: Promise.resolve() };
    const progress = (shown: Progress) => {
      one.progress = { ...one.progress, ...shown };
      if (active.get(task.id) === one) deps.progressed(task.id);
    };
    const job = { task, runId, signal: stop.signal, maxBytes: config().max_output, progress };
    one.over = runner(job)
      .catch((error: unknown) => failedEnding(errorMessage(error), stop.signal))
      .then((ending) => {
        const durationMs = clock.monotonic() - startedAt;
        // A hook may throw where it may not, too.
        const write = () => ended(masked(ending, mask), durationMs);
        return untilWritten({ task: task.id, run: runId }, write, { stopping: stopping.signal, clock, logger });
      })
      // The next start finds the run's lease and reports that the run was cut off.
      .catch((error: unknown) =>
        logger.error(
          { task: task.id, run: runId, error: errorMessage(error) },
          "how a run ended could not be written down",
        ),
      )
      .finally(() => {
        deadline.cancel();
        if (active.get(task.id) === one) active.delete(task.id);
        over();
      });
    active.set(task.id, one);
  }

  async function renew(taskId: string, { runId, stop }: Active): Promise<void> {
    try {
      if (await store.renew(taskId, runId, clock.now() + config().lease)) return;
      if (active.get(taskId)?.runId === runId) stop.abort(new Error("its lease was lost"));
    } catch (error) {
      logger.warn({ task: taskId, run: runId, error: errorMessage(error) }, "the lease of a run could not be renewed");
    }
  }

  function arm(): void {
    renewal = clock.after(config().lease / 3, () => {
      for (const [taskId, one] of active) void renew(taskId, one);
      arm();
    });
  }

  const allOver = async () => {
    while (active.size > 0) await Promise.all([...active.values()].map(({ over }) => over));
  };

  return {
    startRun,
    committed(task) {
      const one = active.get(task.id);
      if (one !== undefined && task.run?.id !== one.runId) one.stop.abort(new Error("its task was taken away"));
    },
    progressOf: (taskId) => active.get(taskId)?.progress,
    start: arm,
    async stop(graceMs) {
      stopping.abort(new Error("the gateway stopped"));
      if (!(await within(clock, graceMs, allOver()))) {
        for (const { stop } of active.values()) stop.abort(new Error("the gateway stopped"));
        await within(clock, LAST_MS, allOver());
      }
      renewal?.cancel();
    },
    get size() {
      return active.size;
    },
  };
}

/** The time for process groups to end, for hooks to answer (they have five seconds), and for the result to be written. */
const LAST_MS = 7_000;

function timeoutError(timeoutMs: number): Error {
  const error = new Error(`not done within ${timeoutMs} ms`);
  error.name = "TimeoutError";
  return error;
}

function masked({ how, result }: Ending, mask: (text: string) => string): Ending {
  return {
    how,
    result: {
      ...result,
      output: mask(result.output),
      error: result.error && mask(result.error),
    },
  };
}
