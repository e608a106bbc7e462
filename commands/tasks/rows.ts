/** A task in a line, and as data. */
import { isEnded, type Task } from "../../src/domain/task.js";
import { formatDuration } from "../../src/lib/duration.js";
import { plain } from "../text.js";

export function taskLine({ title, status, reason }: Task): string {
  return `**${plain(title, 120)}** · ${status.replaceAll("_", " ")}${reason === undefined ? "" : `: ${plain(reason, 300)}`}`;
}

/** Without what a program printed: that is shown to those who may see it. */
export function taskData(task: Task): Record<string, unknown> {
  const { result, run, ...facts } = task;
  return {
    ...facts,
    ...(run === undefined ? {} : { run: { id: run.id, startedAt: run.startedAt } }),
    ...(result === undefined ? {} : { result: { ok: result.ok, durationMs: result.durationMs, ...exitOf(result) } }),
  };
}

function exitOf({ exitCode, httpStatus }: NonNullable<Task["result"]>) {
  return {
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(httpStatus === undefined ? {} : { httpStatus }),
  };
}

/** `in 2 h`, `3 h over`; empty without a deadline or when it is over anyway. */
export function dueText({ deadline, status }: Task, now: number): string {
  if (deadline === undefined || isEnded(status)) return "";
  return deadline > now ? `in ${formatDuration(deadline - now)}` : `${formatDuration(now - deadline)} over`;
}
