/** The first stored state of a mission, and the tasks of its plan. */
import type { Address } from "../../domain/chat/address.js";
import type { Mission } from "../../domain/orchestrator/mission.js";
import { deadlineAt, type Plan, type PlanTask, planTasks } from "../../domain/orchestrator/plan.js";
import type { TaskSpecInput } from "../../domain/orchestrator/task.js";
import { newId } from "../../lib/id.js";
import { parseDuration } from "../../lib/time/duration.js";

export interface Start {
  id?: string;
  planId: string;
  plan: Plan;
  by: string;
  at: number;
  scheduleId?: string;
  address?: Address;
  cause?: Mission["cause"];
}

export function newMission({ id, planId, plan, by, at, scheduleId, address, cause }: Start): Mission {
  const deadline = plan.deadline === undefined ? undefined : deadlineAt(plan.deadline, at);
  return {
    id: id ?? newId("m", at),
    version: 1,
    planId,
    title: plan.title ?? planId,
    plan,
    status: "pending",
    createdAt: at,
    deadline,
    createdBy: by,
    scheduleId,
    ...stateOfPlan(plan, at),
    tasksCreated: false,
    address,
    cause,
  };
}

/** The state of a plan's groups and gates before any task is released. */
export function stateOfPlan(plan: Plan, at: number): Pick<Mission, "groups" | "gates" | "taskIds"> {
  return {
    groups: plan.groups.map(({ name }) => ({ name, status: "waiting" })),
    gates: plan.groups.flatMap(({ name, gate }) => (gate ? [{ name: gate.name, group: name, changes: 0 }] : [])),
    taskIds: Object.fromEntries(planTasks(plan).map(({ task }) => [task.id, newId("t", at)])),
  };
}

export interface PlannedTask {
  id: string;
  spec: TaskSpecInput;
}

/** Tasks in order: those that others depend on come first. Deadlines that are durations start with the mission. */
export function plannedTasks(mission: Mission): PlannedTask[] {
  const { plan, taskIds, startedAt = mission.createdAt } = mission;
  const left = planTasks(plan);
  const placed = new Set<string>();
  const planned: PlannedTask[] = [];
  while (left.length > 0) {
    // A plan without cycles always has one; were there none, the first would do.
    const at = Math.max(
      0,
      left.findIndex(({ task }) => (task.dependsOn ?? []).every((name) => placed.has(name))),
    );
    for (const { task, group } of left.splice(at, 1)) {
      placed.add(task.id);
      planned.push({ id: taskIds[task.id] as string, spec: specOf(task, group.name, plan, taskIds, startedAt) });
    }
  }
  return planned;
}

function specOf(
  task: PlanTask,
  group: string,
  { defaults = {} }: Plan,
  taskIds: Readonly<Record<string, string>>,
  startedAt: number,
): TaskSpecInput {
  const { expectations, needsApproval, input } = task;
  const maxDuration = task.maxDuration ?? defaults.maxDuration;
  const retry = task.retryPolicy ?? defaults.retryPolicy;
  const priority = task.priority ?? defaults.priority;
  const deadline = task.deadline === undefined ? undefined : deadlineAt(task.deadline, startedAt);
  return {
    title: task.title ?? task.id,
    description: task.description ?? "",
    assignTo: task.assignTo ?? defaults.assignTo ?? "",
    group,
    expectations,
    dependsOn: task.dependsOn?.map((name) => taskIds[name] as string),
    maxDuration: maxDuration === undefined ? undefined : parseDuration(maxDuration),
    retryPolicy: retry && { maxRetries: retry.maxRetries, backoffMs: parseDuration(retry.backoff ?? "") ?? 0 },
    deadline,
    priority,
    needsApproval,
    input,
  };
}
