/**
 * The orchestrator's own next step with a task, by its state. Every branch changes the row or puts it off, so that no step repeats
 * endlessly.
 */
import type { Actor, Task } from "../../domain/orchestrator/task.js";
import type { TaskStore } from "../../domain/orchestrator/task-store.js";
import { newId } from "../../lib/id.js";
import { type Assignee, assigneeOf } from "../assignee.js";
import { runnerNamed } from "../runners/index.js";
import { assess } from "./assess.js";
import { cardFor, cardsOf } from "./cards.js";
import type { StepDeps } from "./step-deps.js";

const SELF: Actor = { by: "orchestrator" };

export async function step(task: Task, deps: StepDeps): Promise<void> {
  const { store } = deps;
  switch (task.status) {
    case "pending":
      return startTask(task, deps);
    case "assigned":
      return spawn(task, deps);
    case "in_progress":
      return overdue(task, deps);
    case "review":
      return assess(task, deps);
    case "blocked":
      return unblock(task, deps);
    default:
      return store.setDue(task.id, undefined);
  }
}

async function startTask(task: Task, deps: StepDeps): Promise<void> {
  const { transitions } = deps;
  if (!(await isFree(task, deps))) return;
  if (task.needsApproval === true && task.approvedBy === undefined) {
    await transitions.transition(task.id, {
      to: "awaiting_approval",
      actor: { ...SELF, reason: "it needs an operator's approval" },
      still: isStill(task),
      onVeto: "hold",
    });
    return;
  }
  const assignee = assigneeOrNone(task, deps);
  if (assignee === undefined) return nobody(task, deps);
  if (assignee.kind === "person") return handOut(task, assignee, deps);
  const giveBack = deps.rooms.take(assignee.name);
  if (giveBack === undefined) return; // the next run that ends wakes it again
  try {
    const assigned = await transitions.transition(task.id, {
      to: "assigned",
      actor: { ...SELF, reason: `${assignee.name} has room` },
      still: isStill(task),
      change: (now) => ({ owner: assignee.owner, cards: cardsOf(now, assignee.owner) }),
      timing: () => ({ dueAt: deps.clock.now() }),
      onVeto: "hold",
    });
    if (assigned.kind !== "moved" || !(await run(assigned.task, assignee, giveBack, deps))) giveBack();
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** An assigned task: a crash came before its start. For a person, the card is out and it is the person's turn. */
async function spawn(task: Task, deps: StepDeps): Promise<void> {
  const assignee = assigneeOrNone(task, deps);
  if (assignee === undefined) return nobody(task, deps);
  if (assignee.kind === "person") return deps.store.setDue(task.id, undefined);
  const giveBack = deps.rooms.take(assignee.name);
  if (giveBack === undefined) return;
  try {
    if (!(await run(task, assignee, giveBack, deps))) giveBack();
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** The start is on disk, with its run id and its lease, before anything is started. */
async function run(
  task: Task,
  { name, runner }: Extract<Assignee, { kind: "runner" }>,
  giveBack: () => void,
  deps: StepDeps,
): Promise<boolean> {
  const { clock, config, owner, transitions, running, runEnds } = deps;
  const runs = runnerNamed(name, deps);
  if (runs === undefined || deps.stopping.aborted) return false;
  const runId = task.interrupted?.runId ?? newId("r", clock.now());
  const started = await transitions.transition(task.id, {
    to: "in_progress",
    point: "task:spawn",
    actor: { by: `runner:${name}`, reason: task.attempt === 0 ? "started" : `started, attempt ${task.attempt + 1}` },
    still: isStill(task),
    change: (now) => ({
      attempt: now.attempt + 1,
      startedAt: now.startedAt ?? clock.now(),
      run: { id: runId, startedAt: clock.now(), owner },
      result: undefined,
      assessment: undefined,
    }),
    timing: () => ({ leaseUntil: clock.now() + config().lease }),
    onVeto: "hold",
  });
  if (started.kind !== "moved") return false;
  running.startRun({
    task: started.task,
    runId,
    runner: runs,
    timeoutMs: started.task.maxDuration ?? runner.max_duration ?? config().max_duration,
    ended: (ending, durationMs) => runEnds.conclude(started.task, runId, ending, durationMs),
    over: giveBack,
  });
  return true;
}

async function handOut(task: Task, assignee: Extract<Assignee, { kind: "person" }>, deps: StepDeps): Promise<void> {
  const { transitions, finish } = deps;
  const card = cardFor(task, assignee.person, deps);
  if (card === undefined) {
    await finish.fail(task.id, {
      actor: SELF,
      error: `${assignee.person.user} cannot be reached: give \`at\`, or a platform that is switched on`,
      still: isStill(task),
      mayRetry: false,
    });
    return;
  }
  await transitions.transition(task.id, {
    to: "assigned",
    point: "task:spawn",
    actor: { ...SELF, reason: `given to ${assignee.name}` },
    still: isStill(task),
    change: (now) => ({ owner: assignee.owner, cards: card(now) }),
    onVeto: "hold",
  });
}

/** Only people's work is due by time: a run has its own deadline. */
async function overdue(task: Task, deps: StepDeps): Promise<void> {
  const { clock, finish, store } = deps;
  const limitMs = limitOf(task, deps);
  const startedAt = task.run?.startedAt;
  if (task.run?.owner !== undefined || limitMs === undefined || startedAt === undefined)
    return store.setDue(task.id, undefined);
  if (clock.now() < startedAt + limitMs) return store.setDue(task.id, startedAt + limitMs);
  await finish.fail(task.id, { actor: SELF, error: "timeout: it was not done in time", still: isStill(task) });
}

/** The time limit of a person, where there is one. */
export function limitOf(task: Task, deps: Pick<StepDeps, "config">): number | undefined {
  const assignee = assigneeOrNone(task, deps);
  return task.maxDuration ?? (assignee?.kind === "person" ? assignee.maxDurationMs : undefined);
}

/** The task's runner was removed from the configuration, maybe by mistake: the task loses nothing and continues when the runner is back. */
async function nobody(task: Task, { transitions, clock }: StepDeps): Promise<void> {
  const reason = `its assignee "${task.assignTo}" does not exist any more`;
  await transitions.transition(task.id, {
    to: "blocked",
    actor: { ...SELF, reason },
    still: isStill(task),
    change: () => ({ hold: { kind: "assignee", by: SELF.by, reason, at: clock.now(), wanted: "pending" } }),
    onVeto: "hold",
  });
}

async function unblock(task: Task, deps: StepDeps): Promise<void> {
  const { store, transitions, finish, clock } = deps;
  const reason = await freedBy(task, deps);
  if (reason === undefined) return store.setDue(task.id, undefined);
  if (task.run !== undefined) {
    await finish.interrupted(task, { actor: SELF, crashes: 0, why: "the gateway ended while it ran" });
    return;
  }
  await transitions.transition(task.id, {
    to: "pending",
    actor: { ...SELF, reason },
    still: isStill(task),
    timing: () => ({ dueAt: clock.now() }),
    onVeto: "hold",
  });
}

async function freedBy(task: Task, deps: StepDeps): Promise<string | undefined> {
  switch (task.hold?.kind) {
    case "dependency":
      return (await dependenciesOf(task, deps.store)).kind === "failed" ? undefined : "what it waits for goes on";
    case "assignee":
      return assigneeOrNone(task, deps) === undefined ? undefined : "it has an assignee again";
    default:
      return undefined; // a person's turn
  }
}

/** Whether all tasks that it waits for are done. A failed one blocks it; one that is under way wakes it when it ends. */
async function isFree(task: Task, { store, transitions, clock }: StepDeps): Promise<boolean> {
  if ((task.dependsOn?.length ?? 0) === 0) return true;
  const found = await dependenciesOf(task, store);
  if (found.kind === "done") return true;
  if (found.kind === "open") {
    await store.setDue(task.id, undefined);
    // The dependency may have ended just now, before there was anything to wake.
    if ((await dependenciesOf(task, store)).kind !== "open") await store.setDue(task.id, clock.now());
    return false;
  }
  const reason = `it waits for "${found.task.title}", which ${found.task.status === "failed" ? "failed" : "was cancelled"}`;
  await transitions.transition(task.id, {
    to: "blocked",
    actor: { ...SELF, reason },
    still: isStill(task),
    change: () => ({ hold: { kind: "dependency", by: found.task.id, reason, at: clock.now() } }),
    onVeto: "hold",
  });
  return false;
}

/** Whether the task is as it was read: a change by another caller meanwhile stays. */
const isStill =
  ({ status, attempt, assignTo }: Task) =>
  (now: Task): boolean =>
    now.status === status && now.attempt === attempt && now.assignTo === assignTo;

function assigneeOrNone(task: Task, { config }: Pick<StepDeps, "config">): Assignee | undefined {
  try {
    return assigneeOf(task.assignTo, config());
  } catch {
    return undefined; // the configuration has changed since
  }
}

/** The state of the tasks that a task waits for. */
type Dependencies = { kind: "done" } | { kind: "open" } | { kind: "failed"; task: Task };

async function dependenciesOf({ dependsOn = [] }: Task, store: Pick<TaskStore, "get">): Promise<Dependencies> {
  let isOpen = false;
  for (const id of dependsOn) {
    const task = await store.get(id);
    // A dependency that was swept away was over long ago, and done: else this task would have been blocked then.
    if (task === undefined || task.status === "done") continue;
    if (task.status === "failed" || task.status === "cancelled") return { kind: "failed", task };
    isOpen = true;
  }
  return isOpen ? { kind: "open" } : { kind: "done" };
}
