/**
 * Tells others of a change after its commit: hooks (`after`), clocks, the mission, the card. Each change is marked as told when all
 * have been; what a crash left unmarked is told again at the next start, under the same dispatch ids.
 */

import type { Task, TaskChanged } from "../../domain/task.js";
import type { TaskEvent, TaskStore } from "../../domain/task-store.js";
import type { EntityChanged } from "../../domain/watched.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import { completePayload, failPayload, firedFor, retryPayload, transitionPayload } from "./ask-hooks.js";
import { draftOf } from "./draft.js";
import { watchedOf } from "./watched.js";

export interface TellParts {
  store: Pick<TaskStore, "told" | "telling" | "untold">;
  registry: Pick<HookRegistry, "runAfter">;
  entityChanged?: EntityChanged | undefined;
  taskChanged?: TaskChanged | undefined;
  /** Tasks that wait for this one. */
  wake(task: Task): Promise<void>;
  /** Its card. */
  show(task: Task): Promise<void>;
  logger: Logger;
}

export interface Telling {
  tell(event: TaskEvent, task: Task, tries?: number): void;
  /** What a crash left untold. Clocks ask for all that is open by themselves. */
  resume(): Promise<void>;
  drained(): Promise<void>;
}

export function createTelling(parts: TellParts): Telling {
  const { store, registry, logger } = parts;
  /** Clocks, missions and cards hear of one task's changes in order. */
  const lines = new Map<string, Promise<boolean>>();
  /** Under way, by event. */
  const open = new Map<string, Promise<void>>();

  function tell(event: TaskEvent, task: Task, tries = 1): void {
    const hooks = fireAfter(event, task, tries);
    const line = (lines.get(task.id) ?? Promise.resolve(true)).then(() => others(event, task));
    lines.set(task.id, line);
    const all = Promise.all([hooks, line]).then(async ([, isTold]) => {
      if (lines.get(task.id) === line) lines.delete(task.id);
      if (isTold) await store.told(event.id);
    });
    const settled = all
      .catch((error: unknown) =>
        // It stays untold, and the next start tells it.
        logger.error(
          { task: task.id, event: event.id, error: errorMessage(error) },
          "not every part was notified of a task's change",
        ),
      )
      .finally(() => open.delete(event.id));
    open.set(event.id, settled);
  }

  async function fireAfter(event: TaskEvent, task: Task, attempt: number): Promise<void> {
    const fire = (point: string) => ({
      dispatchId: `${event.id}:${point}:after`,
      attempt,
      ...firedFor(task, event),
    });
    const fired: Promise<void>[] = [];
    if (event.kind === "created") fired.push(registry.runAfter("task:create", draftOf(task), fire("task:create")));
    if (event.kind === "transition" && event.from !== undefined && event.to !== undefined) {
      for (const point of event.points ?? [])
        fired.push(
          point === "task:spawn"
            ? registry.runAfter("task:spawn", { task, agent: task.assignTo }, fire(point))
            : registry.runAfter("task:retry", retryPayload(task), fire(point)),
        );
      fired.push(
        registry.runAfter(
          "task:transition",
          transitionPayload(task, event.from, event.to, event),
          fire("task:transition"),
        ),
      );
      if (event.to === "done")
        fired.push(registry.runAfter("task:complete", completePayload(task), fire("task:complete")));
      if (event.to === "failed")
        fired.push(registry.runAfter("task:fail", failPayload(failed(task, event)), fire("task:fail")));
    }
    await Promise.all(fired);
  }

  /** False when one of them failed. They do not stop each other. */
  async function others(event: TaskEvent, task: Task): Promise<boolean> {
    const isChange = event.kind !== "created" && event.kind !== "note";
    const told = [
      await guarded("the clocks", task, async () => parts.entityChanged?.(watchedOf(task))),
      !isChange || (await guarded("its mission", task, async () => parts.taskChanged?.(task))),
      event.kind !== "transition" || (await guarded("those that wait for it", task, () => parts.wake(task))),
    ];
    // A card that cannot be shown is no reason to tell everybody again.
    await guarded("its card", task, () => parts.show(task));
    return told.every(Boolean);
  }

  async function guarded(whom: string, task: Task, say: () => Promise<void> | undefined): Promise<boolean> {
    try {
      await say();
      return true;
    } catch (error) {
      logger.error({ task: task.id, error: errorMessage(error) }, `${whom} could not be notified of a task's change`);
      return false;
    }
  }

  return {
    tell,
    async resume() {
      for (let afterSeq = 0, isMore = true; isMore; ) {
        const page = await store.untold(PAGE, afterSeq);
        // Events of this start that are being reported: what a crash cut off has failed meanwhile.
        const left = page.filter(({ event }) => !open.has(event.id));
        await Promise.all(left.map(({ event }) => store.telling(event.id)));
        for (const { event, task, tries } of left) tell(event, task, tries + 1);
        afterSeq = page.at(-1)?.seq ?? afterSeq;
        isMore = page.length === PAGE;
      }
    },
    async drained() {
      while (open.size > 0) await Promise.all(open.values());
    },
  };
}

/** Told again after a crash it may be elsewhere by now; why it failed is in the history. */
const failed = (task: Task, { reason }: TaskEvent): Task => (reason === undefined ? task : { ...task, reason });

/** Events that a crash left unreported, per query. */
const PAGE = 1_000;
