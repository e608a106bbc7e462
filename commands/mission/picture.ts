/** A mission's course as a picture: a row a task, a bar an attempt, read from the histories of its tasks. */
import { pictureOf } from "../../src/charts/attachment.js";
import { type GanttBar, ganttChart, MOST_ROWS } from "../../src/charts/gantt.js";
import type { Attachment } from "../../src/domain/message.js";
import type { MissionReport, TaskReport } from "../../src/domain/mission.js";
import type { TaskStatus } from "../../src/domain/task.js";
import type { TaskEvent } from "../../src/domain/task-store.js";
import type { CommandDeps } from "../deps.js";

/** Of one task; what came before is not drawn. */
const MOST_EVENTS = 500;

/** Undefined when nothing has begun. */
export async function missionPicture(
  { missionId, title, tasks }: MissionReport,
  { tasks: desk, clock }: CommandDeps,
): Promise<Attachment | undefined> {
  const begun = tasks.filter(({ startedAt }) => startedAt !== undefined);
  if (desk === undefined || begun.length === 0) return undefined;
  const now = clock.now();
  const rows = await Promise.all(
    begun.map(async (task, i) => ({
      label: task.retries === 0 ? task.title : `${task.title} (${task.attempts} attempts)`,
      ...(task.score === undefined ? {} : { score: task.score }),
      bars: i < MOST_ROWS ? barsOf(task, await desk.store.events(task.taskId, MOST_EVENTS), now) : [],
    })),
  );
  return pictureOf(ganttChart(title, rows, "UTC"), `mission-${missionId}`);
}

/** An attempt is what happens from a start until nobody works on it or judges it any more. */
function barsOf(task: TaskReport, events: readonly TaskEvent[], now: number): GanttBar[] {
  const bars: { from: number; to: number }[] = [];
  let from: number | undefined;
  for (const { at, to } of events) {
    if (to === undefined) continue;
    if (to === "in_progress") from ??= at;
    else if (from !== undefined && !isAtWork(to)) {
      bars.push({ from, to: at });
      from = undefined;
    }
  }
  const last: GanttBar["state"] = from === undefined ? endOf(task.status) : "running";
  if (from !== undefined) bars.push({ from, to: now });
  return bars.map((bar, i) => ({ ...bar, state: i === bars.length - 1 ? last : "retried" }));
}

const isAtWork = (status: TaskStatus) => status === "in_progress" || status === "review" || status === "paused";

function endOf(status: TaskStatus): GanttBar["state"] {
  if (status === "done") return "done";
  return status === "failed" || status === "cancelled" ? "failed" : "retried";
}
