/** Creates a task, once for an id: its fields checked, hooks asked, on disk with the first entry of its history. */

import { formatAddress } from "../../domain/chat/address.js";
import { numberedDispatch } from "../../domain/journal.js";
import {
  type Actor,
  type Task,
  type TaskOrigin,
  type TaskSpec,
  type TaskSpecInput,
  taskSpec,
} from "../../domain/orchestrator/task.js";
import type { TaskEvent, TaskStore } from "../../domain/orchestrator/task-store.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { HookgateError } from "../../lib/errors.js";
import { newId } from "../../lib/id.js";
import type { Clock } from "../../lib/time/clock.js";
import { jsonProblem } from "../../lib/validation/json-problem.js";
import { PLAIN } from "../../lib/validation/plain-issues.js";
import { issuesOf, pathText } from "../../lib/validation/schema-issues.js";
import { withoutUndefined } from "../../lib/without-undefined.js";
import { assigneeOf, assigneeProblem } from "../assignee.js";
import type { OrchestratorConfig } from "../config.js";
import { withChanges } from "../deps.js";
import { failedClosed } from "./ask-hooks.js";
import { firstCards } from "./cards.js";
import { afterChange } from "./notify-change.js";

export interface CreateDeps {
  config(): OrchestratorConfig;
  store: Pick<TaskStore, "get" | "isKnown" | "insert">;
  registry: Pick<HookRegistry, "runBefore">;
  attempts: Attempts;
  committed(event: TaskEvent, task: Task, before: Task | undefined): void;
  clock: Clock;
}

/** A hook refused a task before there was one. */
export class TaskVetoed extends HookgateError {
  readonly by: string;
  readonly reason: string;
  /** No hook refused the task: the gateway ended so often while hooks were asked. */
  readonly crashes: number | undefined;

  constructor(by: string, reason: string, crashes?: number) {
    super({ code: "TASK_VETOED", message: `The task was not created: ${by} refused (${reason}).` });
    this.by = by;
    this.reason = reason;
    this.crashes = crashes;
  }
}

/** Throws TASK_INVALID, TASK_ASSIGNEE, TASK_VETOED. An existing task of this id is returned as it is. */
export async function createTask(
  input: TaskSpecInput,
  actor: Actor,
  origin: TaskOrigin,
  deps: CreateDeps,
): Promise<Task> {
  const { config, store, attempts, committed, clock } = deps;
  const id = origin.id ?? newId("t", clock.now());
  const known = await store.get(id);
  if (known !== undefined) return known;
  const dispatchId = numberedDispatch(id, "task:create", origin.round ?? 1);
  // The steps of a mission are counted together: a refusal is forgotten when the mission has it on disk.
  const owner = origin.missionId ?? dispatchId;
  const ask = () => afterHooks(id, input, actor, origin, { dispatchId, owner }, deps);
  const { spec, assignee } = await (origin.missionId === undefined
    ? ask()
    : attempts.inTurn([{ point: "task:create", dispatchId }], owner, ask)
  ).catch(async (error: unknown) => {
    // A task whose caller chose the id is asked again under that id after any other failure, so its count of attempts stays.
    if (origin.missionId === undefined && (isRefusal(error) || origin.id === undefined)) await attempts.forget(owner);
    throw error;
  });
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
    reason: actor.reason,
    cause: actor.cause,
  };
  const timing = task.status === "pending" ? { dueAt: now } : {};
  const inserting = store.insert(task, event, timing, afterChange(event, task));
  const forgetting = attempts.forget(owner);
  const isInserted = await inserting;
  if (isInserted) committed(event, task, undefined);
  await forgetting;
  return isInserted ? task : ((await store.get(id)) ?? task);
}

/** The task after hooks, checked. */
async function afterHooks(
  id: string,
  input: TaskSpecInput,
  actor: Actor,
  origin: TaskOrigin,
  { dispatchId, owner }: { dispatchId: string; owner: string },
  { config, store, registry, attempts, clock }: CreateDeps,
) {
  const wanted = checked(input, clock.now());
  const depth = actor.cause?.depth ?? 0;
  // After a crash, nothing is asked again about an id that was made here.
  const isNew = origin.id === undefined;
  const isOnce = isNew && origin.missionId === undefined;
  const isCounted = origin.attempt === undefined && (!isNew || isOnce);
  const own = isCounted ? await attempts.count("task:create", dispatchId, { owner, isOnce }) : 1;
  const given = await attempts.tooMany("task:create", dispatchId, own, { owner });
  if (given !== undefined) throw new TaskVetoed("hookgate", given.reason, given.crashes);
  const answer = await registry
    .runBefore(
      "task:create",
      { ...withoutUndefined(wanted), id, missionId: origin.missionId },
      {
        dispatchId,
        attempt: origin.attempt ?? own,
        cause: actor.cause ?? { kind: "task", id, depth },
        conversation: origin.address && formatAddress(origin.address),
        refuseChange: (data) => changeProblem(data, wanted, id, { config, store, clock }),
      },
    )
    .catch((error: unknown) => ({ ...failedClosed(error), data: undefined }));
  if (answer.cancelled || answer.data === undefined)
    throw new TaskVetoed(answer.cancelledBy ?? "a hook", answer.cancelReason ?? "no reason given");
  const spec = checked(answer.data, clock.now());
  const assignee = assigneeOf(spec.assignTo, config());
  for (const other of spec.dependsOn ?? []) {
    const problem = dependencyProblem(other, id, store);
    if (problem !== undefined) throw invalid(problem);
  }
  return { spec, assignee };
}

const isRefusal = (error: unknown) => error instanceof HookgateError && error.code.startsWith("TASK_");

/** Why the task that a hook returned is no valid task; undefined when it is. Problems from before the hook are not reported. */
function changeProblem(
  changed: unknown,
  wanted: TaskSpec,
  id: string,
  { config, store, clock }: Pick<CreateDeps, "config" | "store" | "clock">,
): string | undefined {
  const read = readSpec(changed, clock.now());
  if ("problem" in read) return read.problem;
  const { assignTo, dependsOn = [], input } = read.spec;
  const unstorable = jsonProblem(input ?? null, "input");
  if (unstorable !== undefined) return unstorable;
  if (assignTo !== wanted.assignTo) {
    const problem = assigneeProblem(assignTo, config());
    if (problem !== undefined) return `assignTo: ${problem}`;
  }
  const added = dependsOn.filter((other) => !wanted.dependsOn?.includes(other));
  return added.map((other) => dependencyProblem(other, id, store)).find((problem) => problem !== undefined);
}

function checked(input: unknown, now: number): TaskSpec {
  const read = readSpec(input, now);
  if ("problem" in read) throw invalid(read.problem);
  return read.spec;
}

function readSpec(input: unknown, now: number): { spec: TaskSpec } | { problem: string } {
  const read = taskSpec.safeParse(input, PLAIN);
  if (!read.success) {
    const problems = issuesOf(read.error, []).map(({ path, message }) => `${pathText(path) || "it"}: ${message}`);
    return { problem: problems.join("; ") };
  }
  const { deadline } = read.data;
  if (deadline !== undefined && deadline <= now)
    return { problem: `deadline: ${new Date(deadline).toISOString()} is in the past` };
  return { spec: read.data };
}

function dependencyProblem(other: string, id: string, store: Pick<TaskStore, "isKnown">): string | undefined {
  if (other === id) return "dependsOn: it cannot wait for itself";
  return store.isKnown(other) ? undefined : `dependsOn: there is no task "${other}"`;
}

function invalid(message: string): HookgateError {
  return new HookgateError({ code: "TASK_INVALID", message: `This is no task: ${message}.` });
}
