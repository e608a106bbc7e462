/** Follows a task's change, after its commit: notifies hooks (`after`), clocks, its mission, tasks that wait for it and its card. */

import type { EntityChanged } from "../../domain/alerts/watched.js";
import { isEnded, type Task, type TaskChanged, type TaskDraft } from "../../domain/orchestrator/task.js";
import type { TaskEvent } from "../../domain/orchestrator/task-store.js";
import type { NewPending } from "../../domain/pending.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { DispatchOptions } from "../../hooks/options.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import { withoutUndefined } from "../../lib/without-undefined.js";
import type { Pending } from "../../pending/pending.js";
import { completePayload, failPayload, firedFor, retryPayload, transitionPayload } from "./ask-hooks.js";
import { watchedOf } from "./watched.js";

const HOOKS = "task.hooks";
const WATCHERS = "task.watchers";
export const TASK_KINDS = [HOOKS, WATCHERS] as const;

/** A change, with the task as it was after it. */
interface Change {
  event: TaskEvent;
  task: Task;
}

/** A change of which the hooks of one point are notified. */
interface Notification extends Change {
  point: string;
}

/**
 * Written with the change. Hooks of each point are notified of each change by themselves, so that a hook that crashes the process keeps
 * those of no other point from it; clocks, missions and cards of one task's changes in order.
 */
export function afterChange(event: TaskEvent, task: Task): NewPending[] {
  const payload: Change = { event, task };
  const watchers = { id: `${event.id}:watchers`, kind: WATCHERS, key: task.id, dueAt: 0, payload };
  const hooks = pointsOf(event).map((point) => {
    const id = `${event.id}:${point}:after`;
    return { id, kind: HOOKS, key: id, dueAt: 0, payload: { ...payload, point } satisfies Notification };
  });
  return [...hooks, watchers];
}

function pointsOf({ kind, from, to, points = [] }: TaskEvent): string[] {
  if (kind === "created") return ["task:create"];
  if (kind !== "transition" || from === undefined || to === undefined) return [];
  const atEnd = to === "done" ? ["task:complete"] : to === "failed" ? ["task:fail"] : [];
  return [...points, "task:transition", ...atEnd];
}

export interface NotifyDeps {
  pending: Pick<Pending, "handle">;
  registry: Pick<HookRegistry, "runAfter">;
  attempts: Pick<Attempts, "notify">;
  entityChanged?: EntityChanged | undefined;
  taskChanged?: TaskChanged | undefined;
  /** The task now; undefined when it is gone. */
  get(id: string): Promise<Task | undefined>;
  /** Wakes tasks that wait for this one. */
  wake(task: Task): Promise<void>;
  /** Shows the task on its cards. */
  show(task: Task): Promise<void>;
  logger: Logger;
}

export function handleChanges({ pending, registry, attempts, ...deps }: NotifyDeps): void {
  pending.handle(
    HOOKS,
    async ({ id: dispatchId, payload, attempt, stops }) => {
      const notification = payload as Notification;
      const { event, task, point } = notification;
      const fired = { dispatchId, attempt, ...firedFor(task, event) };
      await attempts.notify(point, { dispatchId, attempt, stops, series: task.id, isLast: isEnded(task.status) }, () =>
        notifyHooks(notification, fired, registry),
      );
    },
    { callsHooks: true },
  );
  pending.handle(WATCHERS, async ({ payload, attempt }) => {
    const { event, task } = payload as Change;
    // Later changes may have been handled since the first try.
    const now = attempt === 1 ? task : await deps.get(task.id);
    if (now) await notifyWatchers(event, now, deps);
  });
}

function notifyHooks(
  { event, task, point }: Notification,
  fired: DispatchOptions,
  registry: Pick<HookRegistry, "runAfter">,
): Promise<void> {
  switch (point) {
    case "task:create":
      return registry.runAfter(point, draftOf(task), fired);
    case "task:spawn":
      return registry.runAfter(point, { task, agent: task.assignTo }, fired);
    case "task:retry":
      return registry.runAfter(point, retryPayload(task), fired);
    case "task:complete":
      return registry.runAfter(point, completePayload(task), fired);
    case "task:fail":
      return registry.runAfter(point, failPayload(task), fired);
    default: {
      const { from = task.status, to = task.status } = event;
      return registry.runAfter("task:transition", transitionPayload(task, from, to, event), fired);
    }
  }
}

type WatcherDeps = Omit<NotifyDeps, "pending" | "registry" | "attempts" | "get">;

/** Rejects when one of them failed; that does not keep the others from being notified. */
async function notifyWatchers(event: TaskEvent, task: Task, deps: WatcherDeps): Promise<void> {
  const isChange = event.kind !== "created" && event.kind !== "note";
  const failed: string[] = [];
  const notify = async (whom: string, work: () => Promise<void> | undefined) => {
    try {
      await work();
    } catch (error) {
      failed.push(`${whom}: ${errorMessage(error)}`);
    }
  };
  await notify("the clocks", async () => deps.entityChanged?.(watchedOf(task)));
  if (isChange) await notify("its mission", async () => deps.taskChanged?.(task));
  if (event.kind === "transition") await notify("tasks that wait for it", () => deps.wake(task));
  // A card that cannot be shown is no reason to notify the others again.
  await deps
    .show(task)
    .catch((error: unknown) =>
      deps.logger.error({ task: task.id, error: errorMessage(error) }, "the card of a task could not be changed"),
    );
  if (failed.length > 0) throw new Error(`not notified of a change of task ${task.id}: ${failed.join("; ")}`);
}

/** A task as `task:create` shows it: its input, and its id. */
function draftOf(task: Task): TaskDraft {
  const { id, title, description, assignTo, expectations, dependsOn, group, maxDuration, needsApproval, input } = task;
  const { retryPolicy, deadline, priority, missionId } = task;
  const draft = {
    ...{ id, title, description, assignTo, expectations, dependsOn, group, maxDuration, needsApproval, input },
    ...{ retryPolicy, deadline, priority, missionId },
  };
  return withoutUndefined(draft);
}
