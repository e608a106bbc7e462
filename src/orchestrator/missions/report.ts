/** A mission in figures: the tasks done, the time they took, the number of attempts, the scores, the results. */
import type { Mission, MissionReport, MissionStatus, TaskReport } from "../../domain/orchestrator/mission.js";
import { planTasks } from "../../domain/orchestrator/plan.js";
import type { Task } from "../../domain/orchestrator/task.js";

const MAX_OUTCOME = 400;

/** `status` and `endedAt`: the mission's next state, when it is about to change. */
export function reportOf(
  mission: Mission,
  tasks: readonly Task[],
  { status = mission.status, now }: { status?: MissionStatus; now: number },
): MissionReport {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const rows = planTasks(mission.plan).flatMap(({ task: { id: name }, group }) => {
    const task = byId.get(mission.taskIds[name] ?? "");
    return task === undefined ? [] : [rowOf(task, name, group.name, now)];
  });
  const scores = rows.flatMap(({ score }) => score ?? []);
  const { startedAt, endedAt = now } = mission;
  return {
    missionId: mission.id,
    planId: mission.planId,
    title: mission.title,
    status,
    startedAt,
    endedAt: startedAt === undefined ? undefined : endedAt,
    durationMs: startedAt === undefined ? undefined : endedAt - startedAt,
    workMs: rows.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0),
    allPassed: rows.length === planTasks(mission.plan).length && rows.every((row) => row.status === "done"),
    avgScore: scores.length === 0 ? undefined : scores.reduce((sum, score) => sum + score, 0) / scores.length,
    retries: rows.reduce((sum, { retries }) => sum + retries, 0),
    counts: countsOf(rows),
    tasks: rows,
    gates: [...mission.gates],
    files: [...new Set(rows.flatMap(({ files }) => files))],
  };
}

function rowOf(task: Task, name: string, group: string, now: number): TaskReport {
  const { startedAt, endedAt, assessment, result } = task;
  const score = assessment?.globalScore;
  const outcome = outcomeOf(task);
  return {
    taskId: task.id,
    name,
    title: task.title,
    group,
    status: task.status,
    assignTo: task.assignTo,
    earlierAssignees: task.earlierAssignees,
    startedAt,
    durationMs: startedAt === undefined ? undefined : (endedAt ?? now) - startedAt,
    endedAt,
    attempts: task.attempt,
    retries: task.retries,
    score,
    isUnchecked: isUnchecked(task) || undefined,
    outcome,
    files: result?.files ?? [],
  };
}

const isUnchecked = ({ status, expectations = [], assessment }: Task): boolean =>
  status === "done" && expectations.length > 0 && assessment?.passed !== true;

/** The last words of a task that is done; the reason for every other one. */
function outcomeOf({ status, hold, lastError, reason, result }: Task): string | undefined {
  const words = status === "done" ? result?.output : (hold?.reason ?? lastError ?? reason ?? result?.error);
  const text = words?.trim();
  if (text === undefined || text === "") return undefined;
  return text.length <= MAX_OUTCOME ? text : `…${text.slice(-MAX_OUTCOME)}`;
}

function countsOf(rows: readonly TaskReport[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of rows) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
