/** The requests behind `/task`, buttons and replies. Each is one transition; the command decides who may ask. */
import type { Actor, Task, TaskResult, TaskStatus } from "../domain/orchestrator/task.js";
import { JUDGED_AGAIN } from "../domain/orchestrator/task-press.js";
import { HookgateError } from "../lib/errors.js";
import type { Clock } from "../lib/time/clock.js";
import { assigneeOf } from "./assignee.js";
import type { OrchestratorDeps } from "./deps.js";
import { cardsOf } from "./tasks/cards.js";
import type { Finish } from "./tasks/finish.js";
import { limitOf } from "./tasks/step.js";
import { causeOf, STAYS_DONE, type Transitioned, type Transitions, wordOf } from "./tasks/transition.js";
import type { TransitionRequest } from "./tasks/transition-request.js";

/** `seen`: the task as its caller read it; a task that is in another state by then stays as it is. */
export interface Asked {
  /** Lets a draft go, and a person starts its work. */
  startTask(seen: Task, actor: Actor): Promise<Transitioned>;
  /** Lets a task that waits for approval run. */
  approve(seen: Task, actor: Actor): Promise<Transitioned>;
  /** A pause ends. */
  resume(seen: Task, actor: Actor): Promise<Transitioned>;
  /** The task's work is done: into review where the task has expectations. */
  report(seen: Task, actor: Actor, result: TaskResult | undefined): Promise<Transitioned>;
  /** Marks a task in review as done, without a further check. */
  accept(seen: Task, actor: Actor, result: TaskResult | undefined): Promise<Transitioned>;
  /** Does a task again: one that failed or was cancelled, and the same change again when a hook refused it. */
  again(seen: Task, actor: Actor): Promise<Transitioned>;
  pause(id: string, actor: Actor): Promise<Transitioned>;
  cancel(id: string, actor: Actor): Promise<Transitioned>;
  /** Refuses an approval, does not accept work, or a person cannot do the task. */
  refuse(seen: Task, actor: Actor): Promise<Transitioned>;
  /** Gives the task to another assignee. */
  assign(id: string, assignTo: string, actor: Actor): Promise<Transitioned>;
  /** `undefined`: no deadline. Throws TASK_INVALID for a task that has ended. */
  setDeadline(id: string, deadline: number | undefined, actor: Actor): Promise<Task>;
  note(id: string, text: string, actor: Actor): Promise<Task>;
}

export interface AskedDeps extends OrchestratorDeps {
  transitions: Transitions;
  finish: Finish;
}

export function createAsked(deps: AskedDeps): Asked {
  return {
    startTask: (seen, actor) => startTask(seen, actor, deps),
    approve: (seen, actor) => approveTask(seen, actor, deps),
    resume: (seen, actor) => resumeTask(seen, actor, deps),
    report: (seen, actor, result) => reportTask(seen, actor, result, deps),
    accept: (seen, actor, result) => acceptTask(seen, actor, result, deps),
    again: (seen, actor) => redoTask(seen, actor, deps),
    pause: (id, actor) => pauseOrCancel(id, "paused", actor, deps),
    cancel: (id, actor) => pauseOrCancel(id, "cancelled", actor, deps),
    refuse: (seen, actor) => refuseTask(seen, actor, deps),
    assign: (id, assignTo, actor) => assignTask(id, assignTo, actor, deps),
    setDeadline: (id, deadline, actor) => setDeadline(id, deadline, actor, deps),
    note: (id, text, actor) => addNote(id, text, actor, deps),
  };
}

async function startTask(task: Task, actor: Actor, deps: AskedDeps): Promise<Transitioned> {
  const { id } = task;
  switch (task.status) {
    case "assigned":
      if (assigneeOf(task.assignTo, deps.config()).kind !== "person") throw itself(task);
      return startWork(task, actor, deps);
    case "draft":
      await needLetGo(task, deps);
      return toPending(task, actor, deps);
    case "pending":
      throw itself(task);
    case "awaiting_approval":
      throw cannot(task, "started", `/task approve ${id} approves it.`);
    case "paused":
      throw cannot(task, "started", `/task resume ${id} continues it.`);
    default:
      throw cannot(task, "started", "What failed or was held is tried again by /task retry.");
  }
}

/** A person starts the work of a task. */
function startWork(task: Task, actor: Actor, deps: AskedDeps): Promise<Transitioned> {
  const { transitions, clock } = deps;
  const { id } = task;
  return transitions.transition(id, {
    to: "in_progress",
    actor,
    still: sameAs(task),
    change: (one) => ({
      attempt: one.attempt + 1,
      startedAt: one.startedAt ?? clock.now(),
      run: { id: `${id}:${one.attempt + 1}`, startedAt: clock.now() },
    }),
    timing: (next) => {
      const limitMs = limitOf(next, deps);
      return limitMs === undefined ? {} : { dueAt: clock.now() + limitMs };
    },
    onVeto: "refuse",
  });
}

/** A task behind a closed gate is not started. */
async function needLetGo(task: Task, deps: AskedDeps): Promise<void> {
  const why = await deps.heldBack?.(task);
  if (why !== undefined)
    throw cannot(task, `started: ${why}`, "Its mission lets it go; /gate release opens a gate that is shut.");
}

async function approveTask(task: Task, actor: Actor, deps: AskedDeps): Promise<Transitioned> {
  if (task.status !== "awaiting_approval")
    throw cannot(task, "approved", "Only a task that waits for approval is approved.");
  const approver = { ...actor, reason: actor.reason ?? "approved" };
  return toPending(task, approver, deps, { change: () => ({ approvedBy: actor.by }) });
}

async function resumeTask(task: Task, actor: Actor, deps: AskedDeps): Promise<Transitioned> {
  if (task.status !== "paused") throw cannot(task, "resumed", "Only a paused task is resumed.");
  return toPending(task, actor, deps);
}

/** The task may start, and is due at once. */
function toPending(
  task: Task,
  actor: Actor,
  { transitions, clock }: AskedDeps,
  more: Pick<TransitionRequest, "change" | "point"> = {},
): Promise<Transitioned> {
  return transitions.transition(task.id, {
    to: "pending",
    actor,
    still: sameAs(task),
    ...more,
    timing: dueNow(clock),
    onVeto: "refuse",
  });
}

async function reportTask(
  task: Task,
  actor: Actor,
  result: TaskResult | undefined,
  { finish }: AskedDeps,
): Promise<Transitioned> {
  if (task.status === "review")
    throw cannot(task, "reported as done again", `/task accept ${task.id} accepts the work without a further check.`);
  return finish.handIn(task.id, { actor, result, still: sameAs(task), onVeto: "refuse" });
}

async function acceptTask(
  task: Task,
  actor: Actor,
  result: TaskResult | undefined,
  { finish }: AskedDeps,
): Promise<Transitioned> {
  if (task.status !== "review")
    throw cannot(task, "accepted", "Only work that was reported as done and is in review is accepted.");
  const accepted = { ...actor, reason: actor.reason ?? "accepted without a check" };
  return finish.handIn(task.id, { actor: accepted, result, still: sameAs(task), onVeto: "refuse" });
}

async function redoTask(task: Task, actor: Actor, deps: AskedDeps): Promise<Transitioned> {
  const { status, hold } = task;
  if (status === "cancelled") await needLetGo(task, deps);
  if (status === "review" && hold !== undefined) return { kind: "moved", task: await judgeAgain(task, actor, deps) };
  if (status === "blocked" && (hold?.wanted === "done" || hold?.wanted === "failed" || hold?.wanted === "review"))
    return changeAgain(task, hold.wanted, actor, deps);
  const known: readonly TaskStatus[] = ["blocked", "failed", "cancelled", "review"];
  if (!known.includes(status)) throw cannot(task, "done again", status === "done" ? STAYS_DONE : "It is not over yet.");
  return workAgain(task, actor, deps);
}

/** The work was never judged: the judgement is asked for again. */
function judgeAgain(task: Task, actor: Actor, { transitions, clock }: AskedDeps): Promise<Task> {
  return transitions.amend(task.id, actor, {
    kind: "changed",
    note: JUDGED_AGAIN,
    still: sameAs(task),
    change: ({ assessmentRound = 1 }) => ({ hold: undefined, assessmentRound: assessmentRound + 1 }),
    timing: dueNow(clock),
  });
}

/** Requests the change that a hook refused. */
function changeAgain(
  task: Task,
  to: "done" | "failed" | "review",
  actor: Actor,
  { transitions, clock }: AskedDeps,
): Promise<Transitioned> {
  return transitions.transition(task.id, {
    to,
    actor,
    still: sameAs(task),
    timing: to === "review" ? dueNow(clock) : () => ({}),
    onVeto: "refuse",
  });
}

function workAgain(task: Task, actor: Actor, deps: AskedDeps): Promise<Transitioned> {
  const requester = { ...actor, reason: actor.reason ?? "to be done again" };
  return toPending(task, requester, deps, {
    point: task.attempt > 0 ? ("task:retry" as const) : undefined,
    change: ({ interrupted, retries }) => ({
      run: undefined,
      // The run is still the same; a run that a person sets going may be cut off as often as at first.
      interrupted: interrupted && { ...interrupted, crashes: 0 },
      retries: task.status === "blocked" ? retries : 0,
    }),
  });
}

async function pauseOrCancel(
  id: string,
  to: "paused" | "cancelled",
  actor: Actor,
  { transitions }: AskedDeps,
): Promise<Transitioned> {
  return transitions.transition(id, {
    to,
    actor,
    still: sameAs(await transitions.need(id)),
    change: () => ({ run: undefined }),
    onVeto: "refuse",
  });
}

async function refuseTask(task: Task, actor: Actor, { finish }: AskedDeps): Promise<Transitioned> {
  const error = actor.reason ?? `${actor.by} refused`;
  return finish.fail(task.id, {
    actor: { by: actor.by, ...causeOf(actor) },
    error,
    still: sameAs(task),
    mayRetry: false,
    onVeto: "refuse",
  });
}

async function assignTask(id: string, assignTo: string, actor: Actor, deps: AskedDeps): Promise<Transitioned> {
  const { transitions, config, clock } = deps;
  const { owner } = assigneeOf(assignTo, config());
  const task = await transitions.need(id);
  const change = (one: Task) => ({
    assignTo,
    owner,
    run: undefined,
    earlierAssignees: assigneesSoFar(one),
    cards: cardsOf(one, owner),
  });
  if (task.status === "done" || task.status === "cancelled") throw cannot(task, "given to anybody", "It has ended.");
  if (task.status !== "assigned" && task.status !== "in_progress") {
    const note = `${task.assignTo} → ${assignTo}`;
    const amended = await transitions.amend(id, actor, {
      kind: "changed",
      note,
      still: sameAs(task),
      change,
      timing: task.hold?.kind === "assignee" ? dueNow(clock) : undefined,
    });
    return { kind: "moved", task: amended };
  }
  const giver = { ...actor, reason: actor.reason ?? `from ${task.assignTo} to ${assignTo}` };
  return toPending(task, giver, deps, { change: (one) => ({ ...change(one), interrupted: undefined }) });
}

async function setDeadline(
  id: string,
  deadline: number | undefined,
  actor: Actor,
  { transitions, clock }: AskedDeps,
): Promise<Task> {
  if (deadline !== undefined && !(deadline > clock.now()))
    throw new HookgateError({ code: "TASK_INVALID", message: "That deadline is in the past." });
  const note = deadline === undefined ? "no deadline" : `deadline ${new Date(deadline).toISOString()}`;
  return transitions.amend(id, actor, { kind: "changed", note, change: () => ({ deadline }) });
}

function addNote(id: string, text: string, actor: Actor, { transitions, clock }: AskedDeps): Promise<Task> {
  return transitions.amend(
    id,
    { ...actor, reason: text },
    { kind: "note", note: text, change: () => ({ lastNote: { by: actor.by, text, at: clock.now() } }) },
  );
}

const sameAs = (task: Task) => (one: Task) => one.status === task.status && one.run?.id === task.run?.id;

const dueNow = (clock: Clock) => () => ({ dueAt: clock.now() });

/** An assignee that never started the task has written nothing. */
function assigneesSoFar({ attempt, assignTo, earlierAssignees = [] }: Task): string[] | undefined {
  return attempt === 0 ? undefined : [...new Set([...earlierAssignees, assignTo])];
}

function itself(task: Task): HookgateError {
  return cannot(task, "started by hand", "It starts by itself when its turn comes.");
}

function cannot(task: Task, what: string, hint: string): HookgateError {
  return new HookgateError({
    code: "TASK_TRANSITION",
    message: `"${task.title}" is ${wordOf(task.status)} and cannot be ${what}.`,
    hint,
  });
}
