/** Asks every point that a change is about, in turn, whether it may be. The result and the reason are those that hooks return. */
import { formatAddress } from "../../domain/chat/address.js";
import { type Actor, type Task, taskResult } from "../../domain/orchestrator/task.js";
import type { Attempts } from "../../hooks/attempts.js";
import { HookFailedError } from "../../hooks/errors.js";
import type { DispatchOptions } from "../../hooks/options.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { BeforeResult } from "../../hooks/signatures.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { type Changes, withChanges } from "../deps.js";
import type { TransitionRequest, Veto } from "./transition-request.js";

export type Answer = { kind: "let go"; changes: Changes } | ({ kind: "veto" } & Veto);

type Registry = Pick<HookRegistry, "runBefore">;

interface AskDeps {
  registry: Registry;
  attempts: Attempts;
}

/** The starts are counted under the task's id; the code that writes the result forgets them. */
export function askHooks(deps: AskDeps, task: Task, next: Task, request: TransitionRequest): Promise<Answer> {
  const ask = () => askEach(deps, task, next, request);
  // A person's command and a hook's request wait for nothing: the others may wait for that hook.
  if (request.actor.cause !== undefined) return ask();
  const dispatches = pointsOf(request).map((point) => ({ point, dispatchId: idOf(task, request, point) }));
  return deps.attempts.inTurn(dispatches, task.id, ask);
}

/** The id is the same when hooks are asked again after a crash. */
const idOf = (task: Task, { to }: TransitionRequest, point: Point) => `${task.id}:${task.version + 1}:${to}:${point}`;

async function askEach(
  { registry, attempts }: AskDeps,
  task: Task,
  next: Task,
  request: TransitionRequest,
): Promise<Answer> {
  let shown = withChanges(next, { status: task.status });
  let changes: Changes = {};
  const points = pointsOf(request);
  for (const [index, point] of points.entries()) {
    const dispatchId = idOf(task, request, point);
    const attempt = await attempts.count(point, dispatchId, { owner: task.id });
    const next = points[index + 1];
    const order = { owner: task.id, next: next && idOf(task, request, next) };
    const given = await attempts.tooMany(point, dispatchId, attempt, order);
    if (given !== undefined) return { kind: "veto", point, by: "hookgate", ...given };
    const options: DispatchOptions = { dispatchId, attempt, ...firedFor(shown, request.actor) };
    const answer = await askers[point](registry, shown, request, options).catch(failedClosed);
    if (answer.cancelled)
      return {
        kind: "veto",
        point,
        by: answer.cancelledBy ?? "a hook",
        reason: answer.cancelReason ?? "no reason given",
      };
    changes = { ...changes, ...answer.changes };
    shown = withChanges(shown, changes);
  }
  return { kind: "let go", changes };
}

type Point = "task:spawn" | "task:retry" | "task:transition" | "task:complete" | "task:fail";

function pointsOf({ to, point }: TransitionRequest): Point[] {
  return [
    ...(point === undefined ? [] : [point]),
    "task:transition",
    ...(to === "done" ? (["task:complete"] as const) : []),
    ...(to === "failed" ? (["task:fail"] as const) : []),
  ];
}

type Asked = Omit<BeforeResult<unknown>, "data"> & { changes?: Changes };
type Ask = (registry: Registry, task: Task, request: TransitionRequest, options: DispatchOptions) => Promise<Asked>;

const askers: Record<Point, Ask> = {
  "task:spawn": (registry, task, _request, options) =>
    registry.runBefore("task:spawn", { task, agent: task.assignTo }, options),
  "task:retry": (registry, task, _request, options) => registry.runBefore("task:retry", retryPayload(task), options),
  "task:transition": (registry, task, { to, actor }, options) =>
    registry.runBefore("task:transition", transitionPayload(task, task.status, to, actor), options),
  async "task:complete"(registry, task, _request, options) {
    const answer = await registry.runBefore("task:complete", completePayload(task), options);
    const result = taskResult.safeParse(answer.data.result);
    return { ...answer, changes: result.success ? { result: result.data } : undefined };
  },
  async "task:fail"(registry, task, _request, options) {
    const answer = await registry.runBefore("task:fail", failPayload(task), options);
    const { reason } = answer.data;
    return { ...answer, changes: typeof reason === "string" ? { reason } : undefined };
  },
};

export const retryPayload = (task: Task) => ({
  taskId: task.id,
  task,
  attempt: task.attempt,
  maxRetries: task.retryPolicy.maxRetries,
});

export const transitionPayload = (task: Task, from: Task["status"], to: Task["status"], { by, reason }: Actor) => ({
  taskId: task.id,
  from,
  to,
  task,
  by,
  reason,
});

export const completePayload = (task: Task) => ({
  taskId: task.id,
  task,
  result: task.result,
  assessment: task.assessment,
});

export const failPayload = (task: Task) => ({
  taskId: task.id,
  task,
  result: task.result,
  reason: task.reason,
});

/** The dispatch options about this task, for the journal; the depth cuts hooks and tasks that make each other. */
export function firedFor(task: Task, { cause }: Pick<Actor, "cause">): DispatchOptions {
  const depth = Math.max(cause?.depth ?? 0, task.cause?.depth ?? 0);
  return {
    cause: { kind: "task", id: task.id, depth },
    conversation: task.address && formatAddress(task.address),
  };
}

/** A guard that fails closed lets nothing pass when it fails; a loop of hooks is stopped, too. */
export function failedClosed(error: unknown): { cancelled: true; cancelReason: string; cancelledBy: string } {
  if (error instanceof HookFailedError)
    return { cancelled: true, cancelReason: errorMessage(error), cancelledBy: error.id };
  if (error instanceof HookgateError && error.code === "HOOK_LOOP")
    return { cancelled: true, cancelReason: error.message, cancelledBy: "hookgate" };
  throw error;
}
