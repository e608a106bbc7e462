/** The context of a run: its steps, one after the other, each with its deadline, and their meaning for the handler. */

import type { StepRecord } from "../domain/automation.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { formatDuration } from "../lib/time/duration.js";
import { withoutUndefined } from "../lib/without-undefined.js";
import { errorWithoutPaths } from "./paths.js";
import { isTimeout } from "./program.js";
import type { Progress } from "./run/progress.js";
import type { RunContext } from "./run-context.js";
import { isFailure, type Judged, type SkipCondition, type StepOutcome, shortCircuit } from "./short-circuit.js";
import type { Step, StepResult } from "./step.js";
import { NO_VALUE, type Rendering } from "./template.js";

export interface GatheredStep {
  readonly step: Step;
  readonly rendering: Rendering<unknown>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly required: boolean;
  readonly skip?: SkipCondition;
}

export interface Gathered {
  /** By index; shorter than the steps when a required one ended the run. */
  readonly outcomes: readonly StepOutcome[];
  readonly records: readonly StepRecord[];
  readonly next:
    | { readonly kind: "run" }
    /** A recorded outcome, by `skip_if`. */
    | { readonly kind: "skip"; readonly reason: string }
    /** A required step failed, a `skip_if` is neither true nor false, or the run was ended. */
    | { readonly kind: "stop"; readonly error: string; readonly timedOut: boolean };
}

/** Records hold the result of the step unchanged: the caller that stores it redacts it. */
export async function gather(
  steps: readonly GatheredStep[],
  skipWhen: "any" | "all",
  context: RunContext,
  progress: Pick<Progress, "stepBegan" | "stepEnded"> = {},
): Promise<Gathered> {
  const judged: Judged[] = [];
  const records: StepRecord[] = [];
  for (const [index, one] of steps.entries()) {
    progress.stepBegan?.(index, one.step.name, steps.length);
    const startedAt = context.clock.monotonic();
    const outcome = await runStep(one, judged.map(outcomeOf), context);
    const latencyMs = context.clock.monotonic() - startedAt;
    let found: ReturnType<SkipCondition["holds"]> | undefined;
    let wrongCondition: string | undefined;
    try {
      found =
        one.skip && !isFailure(outcome) && one.skip.holds(outcome, context.event, [...judged.map(outcomeOf), outcome]);
    } catch (error) {
      wrongCondition = errorMessage(error);
    }
    const unanswered = typeof found === "object" ? found.unanswered : undefined;
    const holds = typeof found === "object" ? false : found;
    judged.push({
      name: one.step.name,
      outcome,
      skip: one.skip,
      holds,
    });
    const record = recordOf(one.step.name, outcome, holds === true, latencyMs);
    if (unanswered !== undefined) {
      record.unanswered = unanswered;
      warnUnanswered(one, index, unanswered, context);
    }
    records.push(record);
    progress.stepEnded?.(index, record);
    if (context.signal.aborted) return { outcomes: judged.map(outcomeOf), records, next: ended(index, one.step) };
    if (wrongCondition !== undefined) {
      const error = `steps[${index}] ${one.step.name}: ${wrongCondition}`;
      return { outcomes: judged.map(outcomeOf), records, next: { kind: "stop", error, timedOut: false } };
    }
    const mustBeOk = one.required || (isFailure(outcome) && outcome.readsNoValue);
    const problem = mustBeOk ? problemOf(outcome) : undefined;
    if (problem !== undefined) return { outcomes: judged.map(outcomeOf), records, next: stop(index, one, problem) };
  }
  const reason = shortCircuit(judged, skipWhen);
  return {
    outcomes: judged.map(outcomeOf),
    records,
    next: reason === undefined ? { kind: "run" } : { kind: "skip", reason },
  };
}

function warnUnanswered(
  { step, skip }: GatheredStep,
  index: number,
  why: string,
  { logger, hookId, dryRun }: RunContext,
): void {
  if (dryRun || skip === undefined || skip.isReported) return;
  skip.isReported = true;
  logger.warn(
    { step: step.name },
    `skip_if of steps[${index}] ${step.name} had no answer, so it did not skip the run: ${why}. \`npx hookgate hooks why ${hookId}\` shows it for the last run, and \`/run\` for each.`,
  );
}

const outcomeOf = ({ outcome }: Judged) => outcome;

/** Work that a step started has this long to end after the deadline; then the step has failed, even if the work continues. */
const SETTLE_MS = 1500;

/** Never rejects. The deadline holds even for a step that does not hear its signal. */
async function runStep(
  { step, rendering, timeoutMs, maxBytes }: GatheredStep,
  before: readonly StepOutcome[],
  context: RunContext,
): Promise<StepOutcome> {
  const deadline = new AbortController();
  const abort = () => deadline.abort(context.signal.reason);
  if (context.signal.aborted) abort();
  context.signal.addEventListener("abort", abort, { once: true });
  let isOver = false;
  const timer = context.clock.after(timeoutMs, () => {
    isOver = true;
    deadline.abort(new DOMException("the step's time has run out", "TimeoutError"));
  });
  const late = lateness(context, deadline.signal);
  try {
    const options = rendering.render(templateScope(context, before));
    const running = step.run(options, {
      ...context,
      signal: deadline.signal,
      timeoutMs,
      maxBytes,
      folders: rendering.folders,
    });
    return await Promise.race([running, late.promise]);
  } catch (error) {
    const timedOut = isOver || isTimeout(error);
    return {
      error: whyNot(error, { timedOut, timeoutMs, isRunOver: context.signal.aborted }, context.folder),
      timedOut,
      readsNoValue: (error instanceof HookgateError && error.code === NO_VALUE) || undefined,
    };
  } finally {
    timer.cancel();
    late.cancel();
    context.signal.removeEventListener("abort", abort);
  }
}

function whyNot(
  error: unknown,
  over: { timedOut: boolean; timeoutMs: number; isRunOver: boolean },
  folder: string,
): string {
  if (!over.timedOut)
    return over.isRunOver ? "the run was ended before the step was done" : errorWithoutPaths(error, folder);
  const advice = "raise `timeout` of the step, or have it do less";
  // The last output of a program is shown; that of an interrupted request or file would not help.
  if (isTimeout(error)) return `${errorMessage(error)} (${advice})`;
  return `the step did not end within ${formatDuration(over.timeoutMs)}: ${advice}`;
}

/** Rejects a while after the signal aborts. */
function lateness({ clock }: RunContext, signal: AbortSignal): { promise: Promise<never>; cancel(): void } {
  let cancel = () => {};
  const promise = new Promise<never>((_, fail) => {
    const onAbort = () => {
      const timer = clock.after(SETTLE_MS, () => fail(signal.reason));
      cancel = () => timer.cancel();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    cancel = () => signal.removeEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  });
  return { promise, cancel: () => cancel() };
}

/** The values that templates of this run read. */
export function templateScope(context: RunContext, outcomes: readonly StepOutcome[]) {
  return {
    event: context.event,
    steps: outcomes,
    now: context.clock.now(),
    lastRunAt: context.lastRunAt,
  };
}

function recordOf(name: string, outcome: StepOutcome, isSkipping: boolean, latencyMs: number): StepRecord {
  if (isFailure(outcome))
    return { step: name, outcome: outcome.timedOut ? "timed_out" : "failed", latencyMs, error: outcome.error };
  return { step: name, outcome: isSkipping ? "skipping" : "passed", latencyMs, result: resultOf(outcome) };
}

const resultOf = ({ value, isEmpty, isOk }: StepResult) => ({
  ...value,
  empty: isEmpty,
  ...withoutUndefined({ ok: isOk }),
});

/** A required step must not only end but be ok, where there is such a thing. */
function problemOf(outcome: StepOutcome): { error: string; timedOut: boolean } | undefined {
  if (isFailure(outcome)) return outcome;
  return outcome.isOk === false
    ? { error: outcome.notOk ?? `it is not ok: ${outcome.text.trim().slice(0, 300)}`, timedOut: false }
    : undefined;
}

function stop(
  index: number,
  { step: { name }, required }: GatheredStep,
  { error, timedOut }: { error: string; timedOut: boolean },
) {
  const what = `steps[${index}] ${name}${required ? " is required" : ""}`;
  return { kind: "stop" as const, error: `${what}: ${error}`, timedOut };
}

/** Nothing more is started in a run that was ended. */
function ended(index: number, { name }: Step) {
  return { kind: "stop" as const, error: `the run was ended during steps[${index}] ${name}`, timedOut: false };
}
