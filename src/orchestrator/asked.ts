/** The requests behind `/task`, buttons and replies. Each is one transition; the command decides who may ask. */
import type { Actor, Task, TaskResult, TaskStatus } from "../domain/orchestrator/task.js";
import { JUDGED_AGAIN } from "../domain/orchestrator/task-press.js";
import { HookgateError } from "../lib/errors.js";
import { assigneeOf } from "./assignee.js";
import type { OrchestratorDeps } from "./deps.js";
import { cardsOf } from "./tasks/cards.js";
import type { Finish } from "./tasks/finish.js";
import { limitOf } from "./tasks/step.js";
import { causeOf, STAYS_DONE, type Transitioned, type Transitions, wordOf } from "./tasks/transition.js";

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
  const { transitions, finish, config, clock } = deps;
  const { transition, amend, need } = transitions;
  const now = () => ({ dueAt: clock.now() });
  const sameAs = (task: Task) => (one: Task) => one.status === task.status && one.run?.id === task.run?.id;

  /** A task behind a closed gate is not started. */
  async function needLetGo(task: Task): Promise<void> {
    const why = await deps.heldBack?.(task);
    if (why !== undefined)
      throw cannot(task, `started: ${why}`, "Its mission lets it go; /gate release opens a gate that is shut.");
  }

  async function startTask(task: Task, actor: Actor): Promise<Transitioned> {
    const { id } = task;
    const still = sameAs(task);
    switch (task.status) {
      case "assigned": {
        if (assigneeOf(task.assignTo, config()).kind !== "person") throw itself(task);
        return transition(id, {
          to: "in_progress",
          actor,
          still,
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
      case "draft":
        await needLetGo(task);
        return transition(id, { to: "pending", actor, still, timing: now, onVeto: "refuse" });
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

  async function approve(task: Task, actor: Actor): Promise<Transitioned> {
    if (task.status !== "awaiting_approval")
      throw cannot(task, "approved", "Only a task that waits for approval is approved.");
    return transition(task.id, {
      to: "pending",
      actor: { ...actor, reason: actor.reason ?? "approved" },
      still: sameAs(task),
      change: () => ({ approvedBy: actor.by }),
      timing: now,
      onVeto: "refuse",
    });
  }

  async function resume(task: Task, actor: Actor): Promise<Transitioned> {
    if (task.status !== "paused") throw cannot(task, "resumed", "Only a paused task is resumed.");
    return transition(task.id, { to: "pending", actor, still: sameAs(task), timing: now, onVeto: "refuse" });
  }

  async function report(task: Task, actor: Actor, result: TaskResult | undefined): Promise<Transitioned> {
    if (task.status === "review")
      throw cannot(task, "reported as done again", `/task accept ${task.id} accepts the work without a further check.`);
    return finish.handIn(task.id, { actor, result, still: sameAs(task), onVeto: "refuse" });
  }

  async function accept(task: Task, actor: Actor, result: TaskResult | undefined): Promise<Transitioned> {
    if (task.status !== "review")
      throw cannot(task, "accepted", "Only work that was reported as done and is in review is accepted.");
    const accepted = { ...actor, reason: actor.reason ?? "accepted without a check" };
    return finish.handIn(task.id, { actor: accepted, result, still: sameAs(task), onVeto: "refuse" });
  }

  async function again(task: Task, actor: Actor): Promise<Transitioned> {
    const still = sameAs(task);
    const { id, status, hold } = task;
    if (status === "cancelled") await needLetGo(task);
    if (status === "review" && hold !== undefined) {
      // The work was never judged: the judgement is asked for again.
      const asked = await amend(id, actor, {
        kind: "changed",
        note: JUDGED_AGAIN,
        still,
        change: ({ assessmentRound = 1 }) => ({ hold: undefined, assessmentRound: assessmentRound + 1 }),
        timing: now,
      });
      return { kind: "moved", task: asked };
    }
    if (status === "blocked" && (hold?.wanted === "done" || hold?.wanted === "failed" || hold?.wanted === "review"))
      return transition(id, {
        to: hold.wanted,
        actor,
        still,
        timing: () => (hold.wanted === "review" ? now() : {}),
        onVeto: "refuse",
      });
    const known: readonly TaskStatus[] = ["blocked", "failed", "cancelled", "review"];
    if (!known.includes(status))
      throw cannot(task, "done again", status === "done" ? STAYS_DONE : "It is not over yet.");
    return transition(id, {
      to: "pending",
      actor: { ...actor, reason: actor.reason ?? "to be done again" },
      still,
      point: task.attempt > 0 ? ("task:retry" as const) : undefined,
      change: ({ interrupted, retries }) => ({
        run: undefined,
        // The run is still the same; a run that a person sets going may be cut off as often as at first.
        interrupted: interrupted && { ...interrupted, crashes: 0 },
        retries: status === "blocked" ? retries : 0,
      }),
      timing: now,
      onVeto: "refuse",
    });
  }

  async function assign(id: string, assignTo: string, actor: Actor): Promise<Transitioned> {
    const { owner } = assigneeOf(assignTo, config());
    const task = await need(id);
    const still = sameAs(task);
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
      return {
        kind: "moved",
        task: await amend(id, actor, {
          ...{ kind: "changed", note, still, change },
          timing: task.hold?.kind === "assignee" ? now : undefined,
        }),
      };
    }
    return transition(id, {
      to: "pending",
      actor: { ...actor, reason: actor.reason ?? `from ${task.assignTo} to ${assignTo}` },
      still,
      change: (one) => ({ ...change(one), interrupted: undefined }),
      timing: now,
      onVeto: "refuse",
    });
  }

  return {
    startTask,
    approve,
    resume,
    report,
    accept,
    again,
    assign,
    pause: async (id, actor) =>
      transition(id, {
        to: "paused",
        actor,
        still: sameAs(await need(id)),
        change: () => ({ run: undefined }),
        onVeto: "refuse",
      }),
    cancel: async (id, actor) =>
      transition(id, {
        to: "cancelled",
        actor,
        still: sameAs(await need(id)),
        change: () => ({ run: undefined }),
        onVeto: "refuse",
      }),
    async refuse(task, actor) {
      const error = actor.reason ?? `${actor.by} refused`;
      return finish.fail(task.id, {
        actor: { by: actor.by, ...causeOf(actor) },
        error,
        still: sameAs(task),
        mayRetry: false,
        onVeto: "refuse",
      });
    },
    async setDeadline(id, deadline, actor) {
      if (deadline !== undefined && !(deadline > clock.now()))
        throw new HookgateError({ code: "TASK_INVALID", message: "That deadline is in the past." });
      const note = deadline === undefined ? "no deadline" : `deadline ${new Date(deadline).toISOString()}`;
      return amend(id, actor, { kind: "changed", note, change: () => ({ deadline }) });
    },
    note: (id, text, actor) =>
      amend(
        id,
        { ...actor, reason: text },
        { kind: "note", note: text, change: () => ({ lastNote: { by: actor.by, text, at: clock.now() } }) },
      ),
  };
}

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
