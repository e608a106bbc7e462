/** Tasks, missions and alerts as rows that a hook may query. */
import { ALERT_STATES } from "../../domain/alerts/alert.js";
import type { About } from "../../domain/chat/hearing.js";
import { MISSION_STATUSES } from "../../domain/orchestrator/mission.js";
import { TASK_STATUSES, type Task } from "../../domain/orchestrator/task.js";
import type { Store } from "../../domain/store.js";
import { MASKED, oneOf, type Query, timeOf } from "./query.js";
import type { RowOf } from "./rows.js";

/** How many items are searched for those that were made since a time, newest first. */
const REACH = 1_000;

export interface TaskDeps {
  store: Pick<Store, "tasks">;
  /** Whether any operator may read texts about this; else no row has them. */
  mayOperatorsHear(of: About): Promise<boolean>;
}

export async function tasks(
  { store: { tasks: store }, mayOperatorsHear }: TaskDeps,
  { limit, since, text }: Query,
): Promise<RowOf<"tasks">[]> {
  const heard = async (task: Task, words: string | undefined) =>
    words === undefined ? null : (await mayOperatorsHear({ id: task.id, payload: { task } })) ? words : MASKED;
  const status = oneOf(TASK_STATUSES, text("status"), "status");
  const [assignTo, group, missionId] = [text("assign_to"), text("group"), text("mission")];
  const found = await store.list({
    limit: since > 0 ? REACH : limit,
    status: status && [status],
    assignTo,
    group,
    missionId,
  });
  const wanted = found.filter(({ createdAt }) => createdAt >= since).slice(0, limit);
  return Promise.all(
    wanted.map(async (task) => ({
      id: task.id,
      title: task.title,
      status: task.status,
      assign_to: task.assignTo,
      group: task.group ?? null,
      mission: task.missionId ?? null,
      reason: await heard(task, task.reason),
      error: await heard(task, task.lastError),
      attempt: task.attempt,
      deadline: timeOf(task.deadline),
      at: timeOf(task.createdAt),
      started_at: timeOf(task.startedAt),
      ended_at: timeOf(task.endedAt),
    })),
  );
}

export async function missions(
  { missions: { rows } }: Pick<Store, "missions">,
  { limit, since, text }: Query,
): Promise<RowOf<"missions">[]> {
  const status = oneOf(MISSION_STATUSES, text("status"), "status");
  const planId = text("plan");
  const found = await rows.list({
    limit: since > 0 ? REACH : limit,
    status: status && [status],
    planId,
  });
  return found
    .filter(({ createdAt }) => createdAt >= since)
    .slice(0, limit)
    .map((mission) => ({
      id: mission.id,
      plan: mission.planId,
      title: mission.title,
      status: mission.status,
      at: timeOf(mission.createdAt),
      ended_at: timeOf(mission.endedAt),
    }));
}

export async function alerts(
  { alerts: store }: Pick<Store, "alerts">,
  { limit, since, text }: Query,
): Promise<RowOf<"alerts">[]> {
  const state = oneOf(ALERT_STATES, text("state"), "state");
  const found = await store.list({
    limit,
    ...(state === undefined ? { open: true } : { states: [state] }),
    since: since > 0 ? since : undefined,
  });
  return found.map((alert) => ({
    id: alert.id,
    state: alert.state,
    severity: alert.severity,
    title: alert.signal.title,
    reason: alert.signal.reason,
    source: alert.signal.source.kind,
    policy: alert.signal.source.policyId ?? null,
    assignee: alert.assignee?.id ?? null,
    at: timeOf(alert.raisedAt),
    ended_at: timeOf(alert.endedAt),
  }));
}
