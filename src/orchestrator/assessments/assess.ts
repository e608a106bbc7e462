/**
 * Judges work that was handed in: `assessment:run` → every expectation checked → the verdict kept → `assessment:complete`. It decides
 * nothing about the task; whoever asked does. Asked again after a crash it gives the verdict that it had.
 */
import { z } from "zod";
import { type Assessment, type AssessmentStore, assessment, type Check } from "../../domain/assessment.js";
import {
  EXPECTATION_KINDS,
  type Expectation,
  type ExpectationKind,
  expectation,
  expectationName,
} from "../../domain/expectation.js";
import type { Assess, Assessed, Task } from "../../domain/task.js";
import type { DispatchOptions } from "../../hooks/options.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { Clock } from "../../lib/clock.js";
import { parseDuration } from "../../lib/duration.js";
import { errorMessage } from "../../lib/errors.js";
import { failedClosed, firedFor } from "../tasks/ask-hooks.js";
import type { CheckParts } from "./checks/check.js";
import { checkExpectation } from "./checks/index.js";
import { verdictOf } from "./verdict.js";

const TIMEOUT_MS = 60_000;

export interface AssessParts extends CheckParts {
  registry: Pick<HookRegistry, "runBefore" | "runAfter">;
  store: AssessmentStore;
  /** Hooks that are being told: nobody waits for them but a stop. */
  telling(told: Promise<void>): void;
  clock: Clock;
}

export function createAssess(parts: AssessParts): Assess {
  return async (task, signal) => {
    const known = await parts.store.get(task.id, task.attempt);
    if (known) return conclude(known, task, parts);
    const asked = await parts.registry
      .runBefore("assessment:run", { taskId: task.id, task }, firing("run", task))
      .catch((error: unknown) => ({ ...failedClosed(error), data: { task } }));
    if (asked.cancelled) return heldBy(asked, "assessment:run");
    // It was let through, so it is told as begun, once.
    parts.telling(parts.registry.runAfter("assessment:run", { taskId: task.id, task }, firing("run_told", task)));
    const startedAt = parts.clock.now();
    const checks: Check[] = [];
    for (const one of expectationsOf(asked.data.task)) checks.push(await checkOne(one, asked.data.task, parts, signal));
    signal.throwIfAborted();
    const judged = {
      taskId: task.id,
      attempt: task.attempt,
      ...verdictOf(checks),
      checks,
      startedAt,
      endedAt: parts.clock.now(),
    };
    return conclude(await parts.store.keep(judged), task, parts);
  };
}

/** Hooks may hold the verdict back, or change it; what was found stays as it was kept. */
async function conclude(judged: Assessment, task: Task, { registry, telling }: AssessParts): Promise<Assessed> {
  const payload = { taskId: task.id, task, assessment: judged, passed: judged.passed };
  const told = await registry
    .runBefore("assessment:complete", payload, firing("complete", task))
    .catch((error: unknown) => ({ ...failedClosed(error), data: payload }));
  if (told.cancelled) return heldBy(told, "assessment:complete");
  const changed = assessment.safeParse(told.data.assessment);
  const final = { ...(changed.success ? changed.data : judged), passed: told.data.passed === true };
  const verdict = { ...payload, assessment: final, passed: final.passed };
  telling(registry.runAfter("assessment:complete", verdict, firing("complete_told", task)));
  return { kind: "assessed", assessment: final };
}

function heldBy(
  { cancelReason, cancelledBy }: { cancelReason?: string; cancelledBy?: string },
  point: string,
): Assessed {
  return { kind: "held", by: cancelledBy ?? "a hook", reason: cancelReason ?? `${point} was vetoed`, point };
}

const firing = (step: string, task: Task): DispatchOptions => ({
  dispatchId: `assess_${task.id}_${task.attempt}_${step}`,
  ...firedFor(task, {}),
});

type Readable = { kind: "readable"; one: Expectation } | { kind: "unreadable"; why: string; number: number };

/** A hook may have changed them: what cannot be read is a check that is broken, never one that is left out. */
function expectationsOf({ expectations = [] }: Task): Readable[] {
  return expectations.map((value, index) => {
    const parsed = expectation.safeParse(value);
    if (parsed.success) return { kind: "readable", one: parsed.data };
    return { kind: "unreadable", why: z.prettifyError(parsed.error), number: index + 1 };
  });
}

async function checkOne(readable: Readable, task: Task, parts: AssessParts, signal: AbortSignal): Promise<Check> {
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
  const startedMs = parts.clock.monotonic();
  const latencyMs = () => Math.round(parts.clock.monotonic() - startedMs);
  const ending = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const found = await checkExpectation(one, { ...parts, task, timeoutMs, signal: ending });
    return { ...facts, score: found.passed ? 1 : 0, ...found, latencyMs: latencyMs() };
  } catch (error) {
    signal.throwIfAborted();
    const why = ending.aborted ? "it could not be checked in time" : `it could not be checked: ${errorMessage(error)}`;
    return { ...broken(facts.name, facts.kind, why), ...facts, latencyMs: latencyMs() };
  }
}

function broken(name: string, kind: ExpectationKind, feedback: string): Check {
  return { name, kind, passed: false, score: 0, weight: 1, required: true, feedback, broken: true, latencyMs: 0 };
}
