/** A task in a line, and as data. */

import { isEnded, type Task, undeliveredCard, undeliveredWords } from "../../src/domain/orchestrator/task.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { saidText } from "../../src/lib/markdown/escape.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { withoutUndefined } from "../../src/lib/without-undefined.js";
import { readableReasons } from "../hooks/hook-reasons.js";
import { code, plain } from "../show/text.js";

export function taskLine({ title, status, reason }: Task, isOpen: boolean): string {
  const why = reason === undefined || !isOpen ? "" : `: ${plain(reason, 300)}`;
  return `**${plain(title, 120)}** · ${status.replaceAll("_", " ")}${why}`;
}

/** The reason of a hook that holds the task may quote messages. */
export function readableTask(task: Task, context: Pick<CommandContext, "operator">): Task {
  if (task.hold === undefined) return task;
  const { hold, reason } = readableReasons(context, { hold: task.hold, reason: task.reason });
  return reason === undefined ? { ...task, hold } : { ...task, hold, reason };
}

/** Without the output of a program and the words of people, which only some readers may see; `isOpen`: with the fields that quote them. */
export function taskData(task: Task, isOpen: boolean): Record<string, unknown> {
  const { result, run, reason, lastError, feedback, assessment, hold, lastNote, ...open } = task;
  const outcome = { reason, lastError, feedback, assessment, hold, lastNote };
  const facts = isOpen ? { ...open, ...withoutUndefined(outcome) } : open;
  return {
    ...facts,
    run: run && { id: run.id, startedAt: run.startedAt },
    result: result && { ok: result.ok, durationMs: result.durationMs, ...exitOf(result) },
  };
}

function exitOf({ exitCode, httpStatus }: NonNullable<Task["result"]>) {
  return {
    exitCode,
    httpStatus,
  };
}

/** People by their names: for `person:web:1`, `web:1 (Ann)` and refs that are no account. */
export function nameOf(who: string, desk: { nameOf(ref: string): string | undefined }): string {
  const bare = who.replace(/^person:/, "");
  const [, ref = bare, name] = /^(\w+:\S+) \((.+)\)$/.exec(bare) ?? [];
  return name ?? desk.nameOf(ref) ?? bare;
}

/** Words about a task, as a message of their own. */
export function passedOn(
  sign: "💬" | "❓",
  by: string,
  { id, title }: Pick<Task, "id" | "title">,
  text: string,
  desk: { nameOf(ref: string): string | undefined },
): string {
  return `${sign} ${plain(nameOf(by, desk), 64)} on **${plain(title, 120)}** (${code(id)}): ${saidText(text, 2_000)}`;
}

/** Reports that the card did not reach the person whose turn it is, and what to do. */
export function undeliveredText(task: Task): string | undefined {
  const card = undeliveredCard(task);
  return (
    card &&
    `⚠ **Not delivered**: ${undeliveredWords(card)} ${code(`/task assign ${task.id} WHO`)} gives it to another person.`
  );
}

/** `in 2 h`, `3 h overdue`; empty without a deadline, or when the clock has ended. */
export function dueText({ deadline, status }: Task, now: number): string {
  if (deadline === undefined || isEnded(status)) return "";
  return deadline > now ? `in ${formatDuration(deadline - now)}` : `${formatDuration(now - deadline)} overdue`;
}
