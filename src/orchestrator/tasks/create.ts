/** Creates a task, once for an id: its fields checked, hooks asked, on disk with the first entry of its history. */

import { formatAddress } from "../../domain/address.js";
import {
  type Actor,
  type Task,
  type TaskOrigin,
  type TaskSpec,
  type TaskSpecInput,
  taskSpec,
} from "../../domain/task.js";
import type { TaskEvent, TaskStore } from "../../domain/task-store.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { Clock } from "../../lib/clock.js";
import { HookgateError } from "../../lib/errors.js";
import { newId } from "../../lib/id.js";
import { PLAIN } from "../../lib/plain-issues.js";
import { issuesOf, pathText } from "../../lib/schema-issues.js";
import { assigneeOf } from "../assignee.js";
import type { OrchestratorConfig } from "../config.js";
import { withChanges } from "../parts.js";
import { failedClosed } from "./ask-hooks.js";
import { firstCards } from "./cards.js";

export interface CreateParts {
  config(): OrchestratorConfig;
  store: Pick<TaskStore, "get" | "insert">;
  registry: Pick<HookRegistry, "runBefore">;
  committed(event: TaskEvent, task: Task, before: Task | undefined): void;
  clock: Clock;
}

/** A hook refused a task before there was one. */
export class TaskVetoed extends HookgateError {
  readonly by: string;
  readonly reason: string;

  constructor(by: string, reason: string) {
    super({ code: "TASK_VETOED", message: `The task was not created: ${by} refused (${reason}).` });
    this.by = by;
    this.reason = reason;
  }
}

/** Throws TASK_INVALID, TASK_ASSIGNEE, TASK_VETOED. A task of this id is given back as it is. */
export async function createTask(
  input: TaskSpecInput,
  actor: Actor,
  origin: TaskOrigin,
  { config, store, registry, committed, clock }: CreateParts,
): Promise<Task> {
  const id = origin.id ?? newId("t", clock.now());
  const known = await store.get(id);
  if (known !== undefined) return known;
  const wanted = checked(input, clock.now());
  const depth = actor.cause?.depth ?? 0;
  const answer = await registry
    .runBefore(
      "task:create",
      { ...withoutUndefined(wanted), id, ...(origin.missionId === undefined ? {} : { missionId: origin.missionId }) },
      {
        dispatchId: `${id}:task:create`,
        attempt: origin.attempt ?? 1,
        cause: actor.cause ?? { kind: "task", id, depth },
        ...(origin.address === undefined ? {} : { conversation: formatAddress(origin.address) }),
      },
    )
    .catch((error: unknown) => ({ ...failedClosed(error), data: undefined }));
  if (answer.cancelled || answer.data === undefined)
    throw new TaskVetoed(answer.cancelledBy ?? "a hook", answer.cancelReason ?? "no reason given");
  const { spec, assignee } = afterHooks(wanted, answer.data, config(), clock.now());
  for (const other of spec.dependsOn ?? []) {
    const isKnown = (await store.get(other)) !== undefined;
    const check = () => needed(other, { id, isKnown });
    if (wanted.dependsOn?.includes(other)) check();
    else byHook(check, `made the task depend on "${other}"`);
  }
  const now = clock.now();
  const task = withChanges(
    {
      ...withoutUndefined(spec),
      id,
      version: 1,
      priority: spec.priority ?? 0,
      retryPolicy: spec.retryPolicy ?? { maxRetries: 0, backoffMs: 0 },
      status: origin.status ?? "pending",
      attempt: 0,
      retries: 0,
      createdAt: now,
      changedAt: now,
      createdBy: actor.by,
    },
    {
      owner: assignee.owner,
      missionId: origin.missionId,
      address: origin.address,
      marked: origin.marked,
      cards: firstCards(id, origin.address, { config }),
      cause: actor.cause,
      reason: actor.reason,
    },
  );
  const event: TaskEvent = {
    id: `${id}:1`,
    taskId: id,
    at: now,
    kind: "created",
    to: task.status,
    by: actor.by,
    attempt: 0,
    ...(actor.reason === undefined ? {} : { reason: actor.reason }),
    ...(actor.cause === undefined ? {} : { cause: actor.cause }),
  };
  if (!(await store.insert(task, event, task.status === "pending" ? { dueAt: now } : {})))
    return (await store.get(id)) ?? task;
  committed(event, task, undefined);
  return task;
}

/** What a hook made of it is checked again. The person who asked is not told that the fault is in their own words. */
function afterHooks(wanted: TaskSpec, changed: unknown, config: OrchestratorConfig, now: number) {
  const spec = byHook(() => checked(changed, now), "made the task invalid");
  if (spec.assignTo === wanted.assignTo) return { spec, assignee: assigneeOf(spec.assignTo, config) };
  const what = `changed the assignee from "${wanted.assignTo}" to "${spec.assignTo}"`;
  return { spec, assignee: byHook(() => assigneeOf(spec.assignTo, config), what) };
}

function byHook<T>(check: () => T, what: string): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof HookgateError)) throw error;
    throw new HookgateError({
      // Not TASK_ASSIGNEE: the names that it offers are no answer to what the person wrote.
      code: "TASK_INVALID",
      message: `A hook at task:create ${what}. ${error.message}`,
      hint: "`/runs task:create` shows which hook. Its author corrects it.",
    });
  }
}

function checked(input: unknown, now: number): TaskSpec {
  const read = taskSpec.safeParse(input, PLAIN);
  if (!read.success)
    throw invalid(
      issuesOf(read.error, [])
        .map(({ path, message }) => `${pathText(path) || "it"}: ${message}`)
        .join("; "),
    );
  if (read.data.deadline !== undefined && read.data.deadline <= now)
    throw invalid(`deadline: ${new Date(read.data.deadline).toISOString()} is in the past`);
  return read.data;
}

function needed(other: string, { id, isKnown }: { id: string; isKnown: boolean }): void {
  if (other === id) throw invalid("dependsOn: it cannot wait for itself");
  if (!isKnown) throw invalid(`dependsOn: there is no task "${other}"`);
}

function invalid(message: string): HookgateError {
  return new HookgateError({ code: "TASK_INVALID", message: `This is no task: ${message}.` });
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}
