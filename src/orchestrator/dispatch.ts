/** Takes due tasks, the highest priority first, and steps them: each task by itself, a bounded number at once. */

import type { Task } from "../domain/orchestrator/task.js";
import type { TaskStore } from "../domain/orchestrator/task-store.js";
import type { Work } from "../domain/work.js";
import { createWork } from "../lib/concurrency/work.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";

export interface DispatchDeps {
  store: Pick<TaskStore, "due" | "nextDue" | "setDue">;
  step(task: Task): Promise<void>;
  /** How many more tasks an assignee can start. */
  roomFor(assignTo: string): number;
  /** False while a hook at orchestrator:tick forbids starts, and when the gateway stops. */
  mayStart(): boolean;
  clock: Clock;
  logger: Logger;
}

export interface Dispatch {
  wake(): void;
  stop(): Promise<void>;
}

const KEY = "tasks";
/** Steps that run at the same time, assessments included: slow hooks delay no more than these. */
const MAX_CONCURRENT_STEPS = 32;
/** A step that failed (the store, not a hook) is made again after this. */
const RETRY_DELAY_MS = 5_000;

export function createDispatch({ store, step, roomFor, mayStart, clock, logger }: DispatchDeps): Dispatch {
  const stepping = new Map<string, Promise<void>>();
  const work: Work = createWork({ processDue: takeDue, maxParallel: 1, clock, logger });

  async function takeDue(): Promise<number | undefined> {
    if (!mayStart()) return undefined; // the next tick tries again
    const room = MAX_CONCURRENT_STEPS - stepping.size;
    if (room <= 0) return undefined; // the next run that ends wakes it again
    const now = clock.now();
    const due = await store.due(now, [...stepping.keys()], roomFor, room);
    for (const task of due) stepping.set(task.id, takeStep(task));
    return due.length === room ? undefined : store.nextDue(now);
  }

  async function takeStep(task: Task): Promise<void> {
    try {
      await step(task);
    } catch (error) {
      logger.error({ task: task.id, error: errorMessage(error) }, "task step failed");
      await store.setDue(task.id, clock.now() + RETRY_DELAY_MS).catch(() => {
        // the store failed: the next tick finds the task due
      });
    } finally {
      stepping.delete(task.id);
      work.wake(KEY);
    }
  }

  return {
    wake: () => work.wake(KEY),
    async stop() {
      await work.stop();
      await Promise.all(stepping.values());
    },
  };
}
