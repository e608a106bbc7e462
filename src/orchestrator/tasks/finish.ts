/** The ends of an attempt: handed in, judged, done again, failed, cut off. Runners, people and the end of the gateway use them. */
import {
  type Actor,
  isEnded,
  type RetryPolicy,
  type Task,
  type TaskAssessment,
  type TaskHold,
  type TaskResult,
  type TaskStatus,
} from "../../domain/orchestrator/task.js";
import { retryPauseMs } from "../../lib/time/backoff.js";
import type { Clock } from "../../lib/time/clock.js";
import { formatDuration } from "../../lib/time/duration.js";
import type { OrchestratorConfig, RunnerConfig } from "../config.js";
import type { Changes } from "../deps.js";
import type { Ending } from "../runners/runner.js";
import type { Transitioned, Transitions } from "./transition.js";
import type { TransitionRequest } from "./transition-request.js";

export interface Failure {
  actor: Actor;
  error: string;
  still?: (task: Task) => boolean;
  result?: TaskResult;
  assessment?: TaskAssessment;
  feedback?: string;
  /** False: the task is not retried, not even within its policy. */
  mayRetry?: boolean;
  onVeto?: TransitionRequest["onVeto"];
}

export interface Finish {
  /** How a run of ours ended. */
  concluded(id: string, runId: string, ending: Ending, durationMs: number): Promise<Transitioned>;
  /** Moves the task into review where it has expectations, else to done. */
  handIn(
    id: string,
    request: Pick<TransitionRequest, "actor" | "still" | "onVeto"> & { result?: TaskResult },
  ): Promise<Transitioned>;
  /** Retries the task within its policy, else it fails. */
  fail(id: string, failure: Failure): Promise<Transitioned>;
  /**
   * The end of the gateway cut this task's run off: its runner's `on_interrupt` decides about the task, which waits while there is no such
   * runner.
   */
  interrupted(task: Task, cut: Interruption): Promise<Transitioned>;
}

export interface Interruption {
  actor: Actor;
  /** How many crashes cut the run off; a stop is none. */
  crashes: number;
  /** The reason in words. */
  why: string;
  /** The result so far. */
  result?: TaskResult;
}

export interface FinishDeps {
  transitions: Transitions;
  config(): OrchestratorConfig;
  clock: Clock;
}

export function createFinish(deps: FinishDeps): Finish {
  return {
    concluded: (id, runId, ending, durationMs) => concludeRun(id, runId, ending, durationMs, deps),
    handIn: (id, request) => handIn(id, request, deps),
    fail: (id, failure) => failAttempt(id, failure, deps),
    interrupted: (task, cut) => interruptRun(task, cut, deps),
  };
}

async function concludeRun(
  id: string,
  runId: string,
  { how, result: ended }: Ending,
  durationMs: number,
  deps: FinishDeps,
): Promise<Transitioned> {
  const task = await deps.transitions.need(id);
  const still = ({ status, run }: Task) => status === "in_progress" && run?.id === runId;
  if (!still(task)) return { kind: "stale", task };
  const actor: Actor = { by: `runner:${task.assignTo}` };
  const result: TaskResult = { ...ended, durationMs: Math.round(durationMs) };
  if (how === "ended" && result.ok) return handIn(id, { actor, still, result, onVeto: "hold" }, deps);
  // Nothing else ends a run that still belongs to its task.
  if (how === "interrupted")
    return interruptRun(task, { actor, crashes: 0, why: "the gateway stopped while it ran", result }, deps);
  const error = result.error ?? "it gave no reason";
  return failAttempt(id, { actor, error: `${WORDS[how]}${error}`, still, result }, deps);
}

const WORDS: Record<Exclude<Ending["how"], "interrupted">, string> = { ended: "", timed_out: "timeout: " };

async function handIn(
  id: string,
  { actor, still, onVeto, result }: Parameters<Finish["handIn"]>[1],
  { transitions, clock }: FinishDeps,
): Promise<Transitioned> {
  const task = await transitions.need(id);
  const isExpecting = (task.expectations?.length ?? 0) > 0;
  const isReviewable = task.status === "in_progress" || task.status === "assigned";
  const to: TaskStatus = isExpecting && isReviewable ? "review" : "done";
  return transitions.transition(id, {
    to,
    actor,
    still: (now) => now.status === task.status && (still?.(now) ?? true),
    change: (now): Changes => ({
      run: undefined,
      // A person who completes it without starting it has made an attempt all the same: each attempt is judged by itself.
      attempt: task.status === "assigned" ? now.attempt + 1 : now.attempt,
      result: result ?? now.result,
      lastError: result ? undefined : now.lastError,
      assessment: to === "review" ? undefined : now.assessment,
      assessmentRound: to === "review" ? undefined : now.assessmentRound,
    }),
    timing: () => (to === "review" ? { dueAt: clock.now() } : {}),
    onVeto,
  });
}

async function failAttempt(id: string, failure: Failure, deps: FinishDeps): Promise<Transitioned> {
  const { actor, error, still, mayRetry = true, onVeto = "hold" } = failure;
  const { transitions } = deps;
  const task = await transitions.need(id);
  let reason = error;
  if (mayRetry && !isEnded(task.status) && task.retries < task.retryPolicy.maxRetries) {
    const request = retryRequest(task, failure, deps.clock);
    const retried = await transitions.transition(id, request);
    if (retried.kind !== "vetoed") return retried;
    if (retried.point !== "task:retry" || retried.crashes !== undefined)
      return { ...retried, task: onVeto === "hold" ? await transitions.hold(id, retried, request) : retried.task };
    reason = `${error}; not done again: ${retried.by} refused (${retried.reason})`;
  }
  return transitions.transition(id, {
    to: "failed",
    actor: { ...actor, reason },
    change: (now) => failedAttempt(now, failure),
    onVeto,
    still,
  });
}

function retryRequest(task: Task, failure: Failure, clock: Clock): TransitionRequest {
  const { actor, error, still } = failure;
  const retry = task.retries + 1;
  const pauseMs = pauseBefore(task.retryPolicy, retry);
  const after = pauseMs === 0 ? "" : ` in ${formatDuration(pauseMs)}`;
  return {
    to: "pending",
    point: "task:retry",
    actor: { ...actor, reason: `retry ${retry} of ${task.retryPolicy.maxRetries}${after}: ${error}` },
    still: (now) => now.status === task.status && (still?.(now) ?? true),
    change: (now) => ({ ...failedAttempt(now, failure), retries: retry }),
    timing: () => ({ dueAt: clock.now() + pauseMs }),
    onVeto: "leave",
  };
}

function pauseBefore({ backoffMs: firstMs }: RetryPolicy, retry: number): number {
  return firstMs === 0 ? 0 : retryPauseMs(firstMs, retry);
}

function failedAttempt(now: Task, { error, result, assessment, feedback }: Failure): Changes {
  return {
    run: undefined,
    interrupted: undefined,
    lastError: error,
    result: result ?? now.result,
    assessment: assessment ?? now.assessment,
    feedback: feedback ?? now.feedback,
  };
}

async function interruptRun(task: Task, cut: Interruption, deps: FinishDeps): Promise<Transitioned> {
  const { actor, why, result } = cut;
  const { transitions, config, clock } = deps;
  const { id, run } = task;
  const still = (now: Task) => now.status === task.status && now.run?.id === run?.id;
  const { runners, max_crashes } = config();
  const policy = runnerOf(task.assignTo, runners)?.on_interrupt;
  const lastError = `interrupted: ${why}`;
  const ended = result === undefined ? {} : { result };
  if (policy === "fail") return failAttempt(id, { actor, error: lastError, still, ...ended }, deps);
  const at = clock.now();
  const crashes = (task.interrupted?.crashes ?? 0) + cut.crashes;
  const change = (): Changes => ({
    ...ended,
    run: undefined,
    lastError,
    interrupted: { runId: run?.id ?? "", at, crashes },
  });
  if (policy === undefined) {
    const reason = `${lastError}, and its assignee "${task.assignTo}" does not exist any more: when it is there again, its \`on_interrupt\` applies`;
    return transitions.transition(id, {
      to: "blocked",
      actor: { ...actor, reason },
      still,
      // The task keeps its run: the fate of that run is not decided.
      change: () => ({ ...change(), run, hold: { kind: "assignee", by: actor.by, reason, at, wanted: "pending" } }),
      onVeto: "hold",
    });
  }
  const waits = whyHeld(task, policy, crashes, max_crashes);
  if (waits !== undefined) {
    const reason = `${lastError}, and ${waits}: a person has to decide what to do`;
    const hold: TaskHold = { kind: "interruption", by: actor.by, reason, at, wanted: "pending" };
    return holdForPerson(task, { actor, still, change: () => ({ ...change(), hold }) }, reason, deps);
  }
  return transitions.transition(id, {
    to: "pending",
    point: "task:retry",
    actor: { ...actor, reason: `${lastError}; it is started again` },
    still,
    change,
    timing: () => ({ dueAt: clock.now() }),
    onVeto: "hold",
  });
}

function runnerOf(name: string, runners: OrchestratorConfig["runners"]): RunnerConfig | undefined {
  return Object.hasOwn(runners, name) ? runners[name] : undefined;
}

/** Undefined when the task may be started again by itself. */
function whyHeld(
  { assignTo }: Task,
  policy: RunnerConfig["on_interrupt"],
  crashes: number,
  maxCrashes: number,
): string | undefined {
  if (policy === "hold") return `${assignTo} does nothing twice by itself`;
  return crashes > maxCrashes ? `that were ${crashes} crashes in a row` : undefined;
}

async function holdForPerson(
  task: Task,
  { actor, still, change }: Required<Pick<TransitionRequest, "actor" | "still" | "change">>,
  reason: string,
  { transitions }: FinishDeps,
): Promise<Transitioned> {
  const { id } = task;
  if (task.status !== "blocked")
    return transitions.transition(id, { to: "blocked", actor: { ...actor, reason }, still, change, onVeto: "hold" });
  const amended = {
    kind: "changed",
    note: reason,
    still,
    change: (now: Task) => ({ ...change(now), reason }),
  } as const;
  return { kind: "moved", task: await transitions.amend(id, actor, amended) };
}
