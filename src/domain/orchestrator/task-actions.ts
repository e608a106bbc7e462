/** Actions of people on tasks, and the states in which each is possible; hooks, or the role of the person, may still refuse it. */
import { isEnded, mayBecome, TASK_STATUSES, type Task, type TaskStatus } from "./task.js";

interface ActionRule {
  statuses: readonly TaskStatus[];
  /** In `cannot be …`. */
  participle: string;
}

const to = (wanted: TaskStatus) => TASK_STATUSES.filter((from) => mayBecome(from, wanted));
const but = (...left: TaskStatus[]) => TASK_STATUSES.filter((status) => !left.includes(status));

const RULES = {
  start: { statuses: ["draft", "assigned"], participle: "started" },
  approve: { statuses: ["awaiting_approval"], participle: "approved" },
  // A second report changes nothing.
  done: { statuses: to("done").filter((from) => from !== "review"), participle: "reported as done" },
  accept: { statuses: ["review"], participle: "accepted" },
  decline: { statuses: to("failed"), participle: "declined" },
  refuse: { statuses: to("failed"), participle: "refused" },
  ask: { statuses: TASK_STATUSES, participle: "asked about" },
  note: { statuses: TASK_STATUSES, participle: "noted on" },
  cancel: { statuses: to("cancelled"), participle: "cancelled" },
  retry: { statuses: ["failed", "blocked", "review", "cancelled"], participle: "done again" },
  assign: { statuses: but("done", "cancelled"), participle: "given to anybody" },
  deadline: { statuses: but("done"), participle: "given a deadline" },
  pause: { statuses: to("paused"), participle: "paused" },
  resume: { statuses: ["paused"], participle: "resumed" },
} as const satisfies Record<string, ActionRule>;

export type TaskAction = keyof typeof RULES;

const rules: Readonly<Record<string, ActionRule>> = RULES;

export const participleOf = (action: TaskAction): string => RULES[action].participle;

/** Whether this person's action is possible in the state that the task has. `who`: `person:platform:id`, who alone starts work of theirs. */
export function isPossible({ status, owner }: Pick<Task, "status" | "owner">, action: string, who: string): boolean {
  const rule = rules[action];
  if (rule === undefined) return true;
  return rule.statuses.includes(status) && (action !== "start" || status !== "assigned" || owner === who);
}

/**
 * The states whose tasks are offered where no task was named. Those that have ended are offered only where the action is about them: a
 * note on one of them has to name it.
 */
export function offeredStatuses(action: unknown): readonly TaskStatus[] {
  const statuses = (typeof action === "string" ? rules[action]?.statuses : undefined) ?? TASK_STATUSES;
  return action === "retry" ? statuses : statuses.filter((status) => !isEnded(status));
}
