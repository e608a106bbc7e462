/**
 * The one function through which a task changes its state, for every caller. It checks the request against the table, asks the hooks,
 * writes the change with its entry in the history, and notifies all observers. A veto becomes a state that people see, and is not asked for
 * again by itself.
 */

import {
  type Actor,
  isEnded,
  mayBecome,
  TASK_TRANSITIONS,
  type Task,
  type TaskHold,
  type TaskStatus,
} from "../../domain/orchestrator/task.js";
import type { TaskEvent, TaskStore, TaskTiming } from "../../domain/orchestrator/task-store.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { HookgateError } from "../../lib/errors.js";
import type { Clock } from "../../lib/time/clock.js";
import { type Changes, withChanges } from "../deps.js";
import { askHooks } from "./ask-hooks.js";
import { afterChange } from "./notify-change.js";
import type { TransitionRequest, Veto } from "./transition-request.js";

export type Transitioned =
  | { kind: "moved"; task: Task }
  | ({ kind: "vetoed"; task: Task } & Veto)
  /** The task has changed since the request. */
  | { kind: "stale"; task: Task };

export interface TransitionDeps {
  store: Pick<TaskStore, "get" | "commit">;
  registry: Pick<HookRegistry, "runBefore">;
  attempts: Attempts;
  /** Called at once after each commit: has others notified. Must not throw. */
  committed(event: TaskEvent, task: Task, before: Task | undefined): void;
  clock: Clock;
}

export interface Transitions {
  /** Throws TASK_UNKNOWN, and TASK_TRANSITION for a change that the table does not have. */
  transition(id: string, request: TransitionRequest): Promise<Transitioned>;
  hold(id: string, veto: Veto, request: Omit<TransitionRequest, "onVeto">): Promise<Task>;
  /** Changes fields and not the state. */
  amend(id: string, actor: Actor, what: Amendment): Promise<Task>;
  need(id: string): Promise<Task>;
}

export interface Amendment {
  kind: "changed" | "note" | "refused";
  note: string;
  still?: (task: Task) => boolean;
  change?: (task: Task) => Changes;
  /** Absent: the due time does not change. */
  timing?: (next: Task) => TaskTiming;
}

/** States in which a run that was cut off is still to be ended. */
const GOES_ON: ReadonlySet<TaskStatus> = new Set(["pending", "assigned", "in_progress", "blocked"]);

/** Another caller's change may come between reading and writing; more in a row than this are a fault. */
const MAX_CONFLICTS = 50;

/** The advice about a task that is done. */
export const STAYS_DONE = "What is done stays done; add another task.";

/** The name of a change to a state. */
const REQUESTED: Partial<Record<TaskStatus, string>> = {
  assigned: "assignment",
  in_progress: "start",
  pending: "retry",
  done: "completion",
  failed: "failure",
};

export function createTransitions(deps: TransitionDeps): Transitions {
  return {
    transition: (id, request) => changeState(id, request, deps),
    hold: (id, veto, request) => holdTask(id, veto, request, deps),
    amend: (id, actor, what) => amendTask(id, actor, what, deps),
    need: (id) => needTask(id, deps),
  };
}

async function changeState(id: string, request: TransitionRequest, deps: TransitionDeps): Promise<Transitioned> {
  let asked: { about: string; changes: Changes } | undefined;
  for (let conflict = 0; conflict < MAX_CONFLICTS; conflict++) {
    const task = await needTask(id, deps);
    if (request.still !== undefined && !request.still(task)) return { kind: "stale", task };
    if (!mayBecome(task.status, request.to)) throw illegal(task, request.to);
    const about = `${task.status} ${task.run?.id ?? ""}`;
    if (asked?.about !== about) {
      const answer = await askHooks(deps, task, movedTask(task, request, deps), request);
      if (answer.kind === "veto") return withVeto(task, answer, request, deps);
      asked = { about, changes: answer.changes };
    }
    const next = withChanges(movedTask(task, request, deps), asked.changes);
    const event = transitionEvent(task, next, request, deps);
    if (await writeChange(task, next, event, request.timing?.(next) ?? {}, deps)) return { kind: "moved", task: next };
  }
  throw busy(id);
}

/** Does with a veto what the request wants. */
async function withVeto(
  task: Task,
  { point, by, reason, crashes }: Veto,
  request: TransitionRequest,
  deps: TransitionDeps,
): Promise<Transitioned> {
  const veto = { point, by, reason, crashes };
  switch (request.onVeto) {
    case "leave":
      return { kind: "vetoed", task, ...veto };
    case "hold":
      return { kind: "vetoed", task: await holdTask(task.id, veto, request, deps), ...veto };
    case "refuse": {
      const actor = { by, reason, cause: request.actor.cause };
      const note = noteOf(task, veto, request);
      const amended = await amendTask(task.id, actor, { kind: "refused", note }, deps);
      return { kind: "vetoed", task: amended, ...veto };
    }
  }
}

/** Into `blocked`, or, where the table has no such way, a mark on the state that it is in. */
async function holdTask(
  id: string,
  veto: Veto,
  request: Omit<TransitionRequest, "onVeto">,
  deps: TransitionDeps,
): Promise<Task> {
  const { point, by, reason, crashes } = veto;
  const { clock } = deps;
  const isCrash = crashes !== undefined;
  for (let conflict = 0; conflict < MAX_CONFLICTS; conflict++) {
    const task = await needTask(id, deps);
    if (request.still !== undefined && !request.still(task)) return task;
    const kind = isCrash ? "interruption" : "veto";
    const mark: TaskHold = { kind, point, by, reason, at: clock.now(), wanted: request.to };
    const to = mayBecome(task.status, "blocked") ? "blocked" : task.status;
    const wanted = withChanges(task, { ...request.change?.(task), run: undefined });
    const next = withChanges(wanted, {
      version: task.version + 1,
      status: to,
      changedAt: to === task.status ? task.changedAt : clock.now(),
      hold: mark,
      reason: isCrash
        ? `${reason}: a person has to decide what to do`
        : `${REQUESTED[request.to] ?? `the change to ${request.to.replaceAll("_", " ")}`} vetoed by ${by}: ${reason}`,
    });
    const event: TaskEvent = {
      ...historyEntry(task, { by, reason, ...causeOf(request.actor) }, deps),
      kind: to === task.status ? "refused" : "transition",
      from: task.status,
      to,
      note: noteOf(task, veto, request),
    };
    if (await writeChange(task, next, event, {}, deps)) return next;
  }
  throw busy(id);
}

async function amendTask(id: string, actor: Actor, what: Amendment, deps: TransitionDeps): Promise<Task> {
  for (let conflict = 0; conflict < MAX_CONFLICTS; conflict++) {
    const task = await needTask(id, deps);
    if (what.still !== undefined && !what.still(task)) return task;
    const next = withChanges(task, { ...what.change?.(task), version: task.version + 1 });
    const timing = what.timing?.(next) ?? { keepsDue: true };
    const event: TaskEvent = { ...historyEntry(task, actor, deps), kind: what.kind, note: what.note };
    if (await writeChange(task, next, event, timing, deps)) return next;
  }
  throw busy(id);
}

async function writeChange(
  task: Task,
  next: Task,
  event: TaskEvent,
  timing: TaskTiming,
  { store, attempts, committed }: TransitionDeps,
): Promise<boolean> {
  const writing = store.commit(next, event, timing, afterChange(event, next));
  // Written or not, the version that hooks were asked about has ended, and the dispatches about that version with it.
  const forgetting = attempts.forget(task.id);
  const isWritten = await writing;
  if (isWritten) committed(event, next, task);
  await forgetting;
  return isWritten;
}

async function needTask(id: string, { store }: TransitionDeps): Promise<Task> {
  const task = await store.get(id);
  if (task !== undefined) return task;
  throw new HookgateError({
    code: "TASK_UNKNOWN",
    message: `There is no task "${id}".`,
    hint: "/task list shows them.",
  });
}

/** The task in the requested state, as it is before hooks are asked. */
function movedTask(task: Task, request: TransitionRequest, { clock }: TransitionDeps): Task {
  const now = clock.now();
  return withChanges(task, {
    hold: undefined,
    interrupted: GOES_ON.has(request.to) ? task.interrupted : undefined,
    ...request.change?.(task),
    version: task.version + 1,
    status: request.to,
    changedAt: now,
    reason: request.actor.reason,
    endedAt: isEnded(request.to) ? now : undefined,
  });
}

function transitionEvent(
  task: Task,
  next: Task,
  { to, actor, point }: TransitionRequest,
  deps: TransitionDeps,
): TaskEvent {
  return {
    ...historyEntry(task, { ...actor, reason: next.reason ?? actor.reason }, deps),
    kind: "transition",
    from: task.status,
    to,
    attempt: next.attempt,
    points: point && [point],
  };
}

function historyEntry(task: Task, actor: Actor, { clock }: TransitionDeps): Omit<TaskEvent, "kind"> {
  return {
    id: `${task.id}:${task.version + 1}`,
    taskId: task.id,
    at: clock.now(),
    by: actor.by,
    reason: actor.reason,
    ...causeOf(actor),
    attempt: task.attempt,
  };
}

function noteOf(
  { status }: Task,
  { point, crashes }: Veto,
  { actor, to }: Pick<TransitionRequest, "actor" | "to">,
): string {
  const why = crashes === undefined ? `${point} vetoed it` : `hooks at ${point} were not called again`;
  return `${actor.by} requested ${status} → ${to}; ${why}`;
}

export const causeOf = ({ cause }: Actor) => (cause === undefined ? {} : { cause });

function illegal(task: Task, to: TaskStatus): HookgateError {
  const ways = TASK_TRANSITIONS[task.status];
  return new HookgateError({
    code: "TASK_TRANSITION",
    message:
      task.status === to
        ? `"${task.title}" is ${wordOf(to)} already.`
        : `"${task.title}" is ${wordOf(task.status)} and cannot become ${wordOf(to)}.`,
    hint: ways.length === 0 ? STAYS_DONE : `From here it may become ${ways.map(wordOf).join(", ")}.`,
  });
}

export const wordOf = (status: TaskStatus) => status.replaceAll("_", " ");

function busy(id: string): HookgateError {
  return new HookgateError({
    code: "TASK_BUSY",
    message: `The task ${id} changes faster than it can be written to.`,
    retryable: true,
  });
}
