/** A press for a state that its task has left: the changes meanwhile, and the answer that nothing is done. */
import type { Task } from "../../src/domain/orchestrator/task.js";
import { JUDGED_AGAIN, stateSince } from "../../src/domain/orchestrator/task-press.js";
import type { TaskEvent } from "../../src/domain/orchestrator/task-store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { code, plain } from "../show/text.js";
import { mayHearHere, type TaskDesk } from "./desk.js";
import { nameOf, taskData } from "./rows.js";

/** Changes of one press, and of the task itself between two presses. */
const NEWEST = 100;

/** The first change of the state for which a button was drawn; null when there is such a change, and the history does not have it. */
export async function changedSince(
  { store }: Pick<TaskDesk, "store">,
  task: Task,
  action: string,
  expected: unknown,
): Promise<TaskEvent | null | undefined> {
  if (typeof expected !== "number" || expected === stateSince(task)) return undefined;
  const later = (await store.events(task.id, NEWEST)).filter(({ at }) => at > expected);
  // Too much has happened since, or the time was set back.
  if (later.length === NEWEST || later.length === 0) return null;
  return later.find((event) => isAnotherState(event, action));
}

/** Who is given work may report on it before and after they start it. */
function isAnotherState({ kind, from, to, note }: TaskEvent, action: string): boolean {
  if (kind === "changed") return note === JUDGED_AGAIN;
  if (kind !== "transition") return false;
  const isReport = action === "done" || action === "decline";
  return !(isReport && from === "assigned" && to === "in_progress");
}

export function nothingToDo(
  desk: TaskDesk,
  context: CommandContext,
  task: Task,
  event: TaskEvent | null,
  now: number,
): CommandAnswer {
  const state = task.status.replaceAll("_", " ");
  const title = plain(task.title, 120);
  const what = event === null ? `${title} is ${state}` : `${title} was ${deed(event, desk, now)}; it is ${state}`;
  return {
    message: { text: `Nothing to do: ${what}. ${code(task.id)}` },
    data: taskData(task, mayHearHere(desk, context, task)),
  };
}

/** `started by Ada 1 s ago`. */
function deed({ from, to, by, at, note }: TaskEvent, desk: TaskDesk, now: number): string {
  const done = note === JUDGED_AGAIN ? "sent to be checked again" : wordOf(from, to);
  return `${done} by ${plain(nameOf(by, desk), 60)} ${formatDuration(Math.max(1_000, now - at))} ago`;
}

function wordOf(from: TaskEvent["from"], to: TaskEvent["to"]): string {
  switch (to) {
    case "pending":
      return from === "draft"
        ? "started"
        : from === "awaiting_approval"
          ? "approved"
          : from === "paused"
            ? "resumed"
            : "sent back to be done";
    case "in_progress":
      return "started";
    case "review":
      return "reported as done";
    case "done":
      return from === "review" ? "accepted" : "reported as done";
    case "failed":
      return from === "awaiting_approval" || from === "review" ? "refused" : "ended as failed";
    default:
      return (to ?? "changed").replaceAll("_", " ");
  }
}
