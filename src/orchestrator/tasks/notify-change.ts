/** What follows a task's change, after its commit: hooks (`after`), and clocks, its mission, tasks that wait for it and its card. */
import type { NewPending } from "../../domain/pending.js";
import { isEnded, type Task, type TaskChanged, type TaskDraft } from "../../domain/task.js";
import type { TaskEvent } from "../../domain/task-store.js";
import type { EntityChanged } from "../../domain/watched.js";
import type { Attempts } from "../../hooks/attempts.js";
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

/** As the task was after the change. */
interface Change {
  event: TaskEvent;
  task: Task;
}

/** Written with the change. Hooks are notified of each change by itself; clocks, missions and cards of one task's changes in order. */
export function afterChange(event: TaskEvent, task: Task): NewPending[] {
  const payload: Change = { event, task };
  const watchers = { id: `${event.id}:watchers`, kind: WATCHERS, key: task.id, dueAt: 0, payload };
  if (event.kind !== "created" && event.kind !== "transition") return [watchers];
  return [{ id: `${event.id}:hooks`, kind: HOOKS, key: event.id, dueAt: 0, payload }, watchers];
}

export interface NotifyParts {
  pending: Pick<Pending, "handle">;
  registry: Pick<HookRegistry, "runAfter">;
  attempts: Pick<Attempts, "notify">;
  entityChanged?: EntityChanged | undefined;
  taskChanged?: TaskChanged | undefined;
  /** The task now; undefined when it is gone. */
  get(id: string): Promise<Task | undefined>;
  /** Tasks that wait for this one. */
  wake(task: Task): Promise<void>;
  /** Its card. */
  show(task: Task): Promise<void>;
  logger: Logger;
}

export function handleChanges({ pending, registry, attempts, ...parts }: NotifyParts): void {
  pending.handle(
    HOOKS,
    async ({ payload, attempt }) => {
      const change = payload as Change;
      const point = change.event.kind === "created" ? "task:create" : "task:transition";
      const fired = {
        dispatchId: change.event.id,
        attempt,
        series: change.event.taskId,
        isLast: isEnded(change.task.status),
      };
      await attempts.notify(point, fired, () => notifyHooks(change, attempt, registry));
    },
    { callsHooks: true },
  );
  pending.handle(WATCHERS, async ({ payload, attempt }) => {
    const { event, task } = payload as Change;
    // Later changes may have been handled since the first try.
    const now = attempt === 1 ? task : await parts.get(task.id);
    if (now) await notifyWatchers(event, now, parts);
  });
}

async function notifyHooks(
  { event, task }: Change,
  attempt: number,
  registry: Pick<HookRegistry, "runAfter">,
): Promise<void> {
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
    if (event.to === "failed") fired.push(registry.runAfter("task:fail", failPayload(task), fire("task:fail")));
  }
  await Promise.all(fired);
}

type WatcherParts = Omit<NotifyParts, "pending" | "registry" | "attempts" | "get">;

/** Rejects when one of them failed; that does not keep the others from being notified. */
async function notifyWatchers(event: TaskEvent, task: Task, parts: WatcherParts): Promise<void> {
  const isChange = event.kind !== "created" && event.kind !== "note";
  const failed: string[] = [];
  const notify = async (whom: string, work: () => Promise<void> | undefined) => {
    try {
      await work();
    } catch (error) {
      failed.push(`${whom}: ${errorMessage(error)}`);
    }
  };
  await notify("the clocks", async () => parts.entityChanged?.(watchedOf(task)));
  if (isChange) await notify("its mission", async () => parts.taskChanged?.(task));
  if (event.kind === "transition") await notify("tasks that wait for it", () => parts.wake(task));
  // A card that cannot be shown is no reason to notify the others again.
  await parts
    .show(task)
    .catch((error: unknown) =>
      parts.logger.error({ task: task.id, error: errorMessage(error) }, "the card of a task could not be changed"),
    );
  if (failed.length > 0) throw new Error(`not notified of a change of task ${task.id}: ${failed.join("; ")}`);
}

/** A task as `task:create` shows it: what it was made from, and its id. */
function draftOf(task: Task): TaskDraft {
  const { id, title, description, assignTo, expectations, dependsOn, group, maxDuration, needsApproval, input } = task;
  const { retryPolicy, deadline, priority, missionId } = task;
  const draft = {
    ...{ id, title, description, assignTo, expectations, dependsOn, group, maxDuration, needsApproval, input },
    ...{ retryPolicy, deadline, priority, missionId },
  };
  return withoutUndefined(draft);
}
