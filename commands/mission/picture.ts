/** A mission's course as a picture: a row a task, a bar an attempt, pale bars where it waits, read from the histories of its tasks. */
import { pictureOf } from "../../src/charts/attachment.js";
import { type GanttBar, ganttChart, MAX_ROWS } from "../../src/charts/gantt.js";
import type { Attachment } from "../../src/domain/chat/message.js";
import type { MissionReport, TaskReport } from "../../src/domain/orchestrator/mission.js";
import { isEnded, type TaskStatus } from "../../src/domain/orchestrator/task.js";
import type { TaskEvent } from "../../src/domain/orchestrator/task-store.js";
import type { CommandDeps } from "../deps.js";

/** The latest events of one task; earlier ones are not drawn. */
const MAX_EVENTS = 500;

/** Undefined when no task has started. */
export async function missionPicture(
  { missionId, title, tasks }: MissionReport,
  deadline: number | undefined,
  { tasks: desk, clock }: CommandDeps,
): Promise<Attachment | undefined> {
  if (desk === undefined || tasks.every(({ startedAt }) => startedAt === undefined)) return undefined;
  const now = clock.now();
  const rows = await Promise.all(
    tasks.map(async (task, i) => ({
      label: task.retries === 0 ? task.title : `${task.title} (${task.attempts} attempts)`,
      score: task.score,
      ended: isEnded(task.status) ? endOf(task.status) : undefined,
      bars: i < MAX_ROWS ? barsOf(task, await desk.store.events(task.taskId, MAX_EVENTS), now) : [],
    })),
  );
  return pictureOf(ganttChart(title, rows, "UTC", deadline), `mission-${missionId}`);
}

/** An attempt lasts from a start until no work and no judgement on it goes on; the time before and between attempts is a wait. */
function barsOf(task: TaskReport, events: readonly TaskEvent[], now: number): GanttBar[] {
  const phases: { kind: Phase; from: number }[] = [];
  for (const { at, to } of events) {
    const before = phases.at(-1)?.kind;
    const kind = to === undefined ? before : phaseOf(to, before);
    if (kind !== undefined && kind !== before) phases.push({ kind, from: at });
  }
  const lastAttempt = phases.findLastIndex(({ kind }) => kind === "work");
  return phases.flatMap(({ kind, from }, i): GanttBar[] => {
    const next = phases[i + 1];
    const to = next?.from ?? now;
    if (kind === "work") {
      const state = next === undefined ? "running" : i === lastAttempt ? endOf(task.status) : "retried";
      return [{ from, to, state }];
    }
    return kind === "wait" && to > from ? [{ from, to, state: "waiting" }] : [];
  });
}

type Phase = "work" | "wait" | "over";

function phaseOf(status: TaskStatus, before: Phase | undefined): Phase {
  if (isEnded(status)) return "over";
  const isInAttempt = before === "work" && (status === "review" || status === "paused");
  return status === "in_progress" || isInAttempt ? "work" : "wait";
}

function endOf(status: TaskStatus): GanttBar["state"] {
  if (status === "done") return "done";
  return status === "failed" || status === "cancelled" ? "failed" : "retried";
}
