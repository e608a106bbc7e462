/**
 * Judges work that was handed in: `assessment:run` → every expectation checked → the verdict kept → `assessment:complete`. The caller
 * decides about the task. When asked again after a crash, it returns the verdict that it had.
 */

import { roundMark } from "../../domain/journal.js";
import {
  type Assessment,
  type AssessmentStore,
  assessment,
  assessmentId,
  type Check,
  type PassedAssessment,
} from "../../domain/orchestrator/assessment.js";
import {
  EXPECTATION_KINDS,
  type Expectation,
  type ExpectationKind,
  expectation,
  expectationName,
} from "../../domain/orchestrator/expectation.js";
import type { Assess, Assessed, Task } from "../../domain/orchestrator/task.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { DispatchOptions } from "../../hooks/options.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { inTurn as oneAtATime } from "../../lib/concurrency/in-turn.js";
import { errorMessage } from "../../lib/errors.js";
import type { Clock } from "../../lib/time/clock.js";
import { parseDuration } from "../../lib/time/duration.js";
import { valueProblem } from "../../lib/validation/value-problem.js";
import type { Pending } from "../../pending/pending.js";
import { failedClosed, firedFor } from "../tasks/ask-hooks.js";
import type { CheckDeps } from "./checks/check.js";
import { checkExpectation } from "./checks/index.js";
import { notificationOf } from "./notify-hooks.js";

const TIMEOUT_MS = 60_000;

export interface AssessDeps extends CheckDeps {
  registry: Pick<HookRegistry, "runBefore">;
  attempts: Attempts;
  store: Pick<AssessmentStore, "get" | "keep" | "pass" | "passed">;
  pending: Pick<Pending, "added">;
  /** Takes secrets out of the quotes of a check. */
  mask(text: string): string;
  clock: Clock;
  /** The time limit of all conditions of one attempt together. */
  conditionsMs?: number;
}

/** The limit is short: people without rights on the machine write these conditions. */
const CONDITIONS_MS = 5_000;

export function createAssess(deps: AssessDeps): Assess {
  // Conditions of all tasks run one at a time: many at once would take the processors from messages.
  const { conditionsMs: limitMs = CONDITIONS_MS } = deps;
  const conditions = oneAtATime();
  return async (task, signal, isInReview) => {
    const known = await deps.store.get(task.id, task.attempt);
    if (known) return conclude(known, task, deps);
    const begun = await askBefore(task, deps);
    if ("kind" in begun) return begun;
    const startedAt = deps.clock.now();
    const checks: Check[] = [];
    let conditionsMs = 0;
    for (const one of expectationsOf(begun)) {
      if (!(await isInReview())) return { kind: "left" };
      const isCondition = one.kind === "readable" && "when" in one.one;
      const check = (leftMs?: number) => checkOne(one, begun, deps, signal, leftMs);
      const checked = isCondition ? await conditions(() => check(limitMs - conditionsMs)) : await check();
      if (isCondition) conditionsMs += checked.latencyMs;
      checks.push(checked);
    }
    signal.throwIfAborted();
    const judged = {
      taskId: task.id,
      attempt: task.attempt,
      ...verdictOf(checks),
      checks,
      startedAt,
      endedAt: deps.clock.now(),
    };
    return conclude(await deps.store.keep(judged), task, deps);
  };
}

/** The task to judge, after hooks; or that they held it. A task that they let go before a crash goes on, and hooks are not asked again. */
async function askBefore(task: Task, deps: AssessDeps): Promise<Task | Assessed> {
  const { registry, store } = deps;
  const { id: taskId, attempt } = task;
  const before = await store.passed(taskId, attempt, "assessment:run");
  if (before !== undefined) return before.payload.task;
  const asked = await inTurn("assessment:run", task, deps, (fired) =>
    registry
      .runBefore("assessment:run", { taskId, task }, fired)
      .catch((error: unknown) => ({ ...failedClosed(error), data: { task } })),
  );
  if ("kind" in asked) return asked;
  if (asked.cancelled) return heldBy(asked, "assessment:run");
  const judged = asked.data.task as Task;
  await pass({ taskId, attempt, point: "assessment:run", payload: { taskId, task: judged } }, deps);
  return judged;
}

/** Hooks may hold the verdict back, or change it; the stored result of the checks stays. */
async function conclude(judged: Assessment, task: Task, deps: AssessDeps): Promise<Assessed> {
  const { registry, store } = deps;
  const { id: taskId, attempt } = task;
  const before = await store.passed(taskId, attempt, "assessment:complete");
  if (before?.point === "assessment:complete") return { kind: "assessed", assessment: before.payload.assessment };
  const payload = { taskId: task.id, task, assessment: judged, passed: judged.passed };
  const completed = await inTurn("assessment:complete", task, deps, (fired) =>
    registry
      .runBefore("assessment:complete", payload, fired)
      .catch((error: unknown) => ({ ...failedClosed(error), data: payload })),
  );
  if ("kind" in completed) return completed;
  if (completed.cancelled) return heldBy(completed, "assessment:complete");
  const changed = assessment.safeParse(completed.data.assessment);
  const final: Assessment = { ...(changed.success ? changed.data : judged), passed: completed.data.passed === true };
  if (final.passed !== judged.passed || final.globalScore !== judged.globalScore) final.byHook = true;
  const verdict = { ...payload, assessment: final, passed: final.passed };
  await pass({ taskId, attempt, point: "assessment:complete", payload: verdict }, deps);
  return { kind: "assessed", assessment: final };
}

function heldBy(
  { cancelReason, cancelledBy }: { cancelReason?: string; cancelledBy?: string },
  point: string,
): Assessed {
  return { kind: "held", by: cancelledBy ?? "a hook", reason: cancelReason ?? `${point} was vetoed`, point };
}

/** The answer of hooks; or that they are not called, because they crashed the gateway too often. */
async function inTurn<T>(
  point: PassedAssessment["point"],
  task: Task,
  { attempts }: AssessDeps,
  ask: (fired: DispatchOptions) => Promise<T>,
): Promise<T | Extract<Assessed, { kind: "held" }>> {
  const owner = assessmentId(task);
  const step = point === "assessment:run" ? "run" : "complete";
  const dispatchId = `${owner}_${step}${roundMark(task.assessmentRound)}`;
  return attempts.inTurn([{ point, dispatchId }], owner, async () => {
    const attempt = await attempts.count(point, dispatchId, { owner });
    const given = await attempts.tooMany(point, dispatchId, attempt, { owner });
    if (given !== undefined) return { kind: "held" as const, by: "hookgate", point, ...given };
    return ask({ dispatchId, attempt, ...firedFor(task, {}) });
  });
}

async function pass(passed: PassedAssessment, { store, pending, attempts, clock }: AssessDeps): Promise<void> {
  const owner = assessmentId({ id: passed.taskId, attempt: passed.attempt });
  const after = [notificationOf(passed)];
  const [isNew] = await Promise.all([store.pass(passed, clock.now(), after), attempts.forget(owner)]);
  if (isNew) pending.added(after);
}

type Readable = { kind: "readable"; one: Expectation } | { kind: "unreadable"; why: string; number: number };

/** A hook may have changed the expectations: one that cannot be read is a broken check, never one that is left out. */
function expectationsOf({ expectations = [] }: Task): Readable[] {
  return expectations.map((value, index) => {
    const parsed = expectation.safeParse(value);
    if (parsed.success) return { kind: "readable", one: parsed.data };
    return { kind: "unreadable", why: valueProblem(expectation, value) ?? "", number: index + 1 };
  });
}

async function checkOne(
  readable: Readable,
  task: Task,
  deps: AssessDeps,
  signal: AbortSignal,
  limitMs = CONDITIONS_MS,
): Promise<Check> {
  if (readable.kind === "unreadable")
    return broken(`expectation ${readable.number}`, "when", `it cannot be read: ${readable.why}`);
  const { one } = readable;
  const timeoutMs = parseDuration(one.timeout ?? "") ?? TIMEOUT_MS;
  const facts = {
    name: expectationName(one),
    kind: EXPECTATION_KINDS.find((kind) => kind in one) as ExpectationKind,
    weight: one.weight ?? 1,
    required: one.required ?? true,
  };
  const startedMs = deps.clock.monotonic();
  const latencyMs = () => Math.round(deps.clock.monotonic() - startedMs);
  const ending = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const found = await checkExpectation(one, {
      ...deps,
      task,
      timeoutMs,
      conditionMs: Math.max(1, Math.floor(Math.min(timeoutMs, limitMs))),
      signal: ending,
    });
    const { tookMs = latencyMs(), ...outcome } = found;
    const feedback = deps.mask(outcome.feedback);
    return { ...facts, score: outcome.passed ? 1 : 0, ...outcome, feedback, latencyMs: Math.round(tookMs) };
  } catch (error) {
    signal.throwIfAborted();
    const why = ending.aborted
      ? "it could not be checked in time"
      : `it could not be checked: ${deps.mask(errorMessage(error))}`;
    return { ...broken(facts.name, facts.kind, why), ...facts, latencyMs: latencyMs() };
  }
}

function broken(name: string, kind: ExpectationKind, feedback: string): Check {
  return { name, kind, passed: false, score: 0, weight: 1, required: true, feedback, broken: true, latencyMs: 0 };
}

/** The verdict from all checks together. */
function verdictOf(checks: readonly Check[]): Pick<Assessment, "passed" | "globalScore" | "feedback"> {
  const passed = checks.every((check) => check.passed || !check.required);
  const weight = checks.reduce((sum, check) => sum + check.weight, 0);
  const globalScore = weight === 0 ? 1 : checks.reduce((sum, check) => sum + check.score * check.weight, 0) / weight;
  const missed = checks.filter((check) => !check.passed);
  return {
    passed,
    globalScore: Math.round(globalScore * 1e6) / 1e6,
    feedback: passed ? "" : missed.map(({ name, feedback }) => `${name}: ${feedback}`).join("\n"),
  };
}
