/**
 * One run of one configured hook, from its trigger to its notifications. This is the whole pipeline: every run, with any trigger,
 * goes through here once for each attempt.
 */

import { PAUSED_REASON, type StepRecord } from "../domain/automation.js";
import { isOfStranger } from "../domain/chat/access.js";
import { isHandId, MAX_HOOK_DEPTH } from "../domain/journal.js";
import type { Refusal } from "./gates/refusal.js";
import type { Pass } from "./gates.js";
import { gather, templateScope } from "./gather.js";
import type { HandlerFacts } from "./handler.js";
import { callHandler } from "./run/call-handler.js";
import { contextOf } from "./run/context-of.js";
import type { RunDeps, RunStart } from "./run/deps.js";
import { recordDropped, recordEnd, recordStart } from "./run/keep-record.js";
import { cutLoop, type LoopRefusal } from "./run/loop.js";
import { openRun } from "./run/open-run.js";
import type { RunOutcome } from "./run/outcome.js";
import { ended, outcomeOf } from "./run/outcome-of.js";

/** Rejects only when the store cannot take the start of the run: then nothing was done. */
export async function runAutomation(start: RunStart, deps: RunDeps): Promise<RunOutcome> {
  // Trigger: the start of the run is a row, stored beforehand or now.
  const run = await openRun(start, deps);
  if (run.earlier !== undefined) return run.earlier;

  // Gates: a refused run is recorded with the gate's name.
  const gate = await passGates(start, deps);
  if (gate.kind === "refused") {
    const refused = await recordEnd(start, run, { status: "skipped", by: gate.gate, reason: gate.reason }, {}, deps);
    if (gate.gate === "loop") void deps.loopCut(start.definition, gate.reason);
    // A stored run that is refused counts in the notices of its hook, as one that is refused before it is stored.
    if (start.stored !== undefined && start.trigger !== "manual")
      await deps.notify(start.definition, run.row, refused, start.payload);
    return refused;
  }
  if (gate.kind === "ended") return recordEnd(start, run, gate.outcome, {}, deps);

  let outcome: RunOutcome | undefined;
  try {
    const lastRunAt = await lastStartedAt(start.definition.id, deps.runs);
    await recordStart(start, run, deps);

    // Context: the steps, in order, each seeing those before it.
    const context = contextOf(start, run, deps, lastRunAt);
    const { definition, progress } = start;
    progress?.began?.(run.row.id);
    const gathered = await gather(definition.context, definition.skipWhen, context, progress);
    const facts: { steps: readonly StepRecord[]; handler?: HandlerFacts } = { steps: gathered.records };

    // Short-circuit: a condition holds, or a step that is required failed. Else render and handle.
    if (start.signal.aborted) outcome = ended(start.signal);
    else if (gathered.next.kind === "skip")
      outcome = { status: "skipped", by: "skip_if", reason: gathered.next.reason };
    else if (gathered.next.kind === "stop") {
      const { error, timedOut } = gathered.next;
      outcome = { status: timedOut ? "timed_out" : "failed", error, isRetryable: true };
    } else {
      progress?.handlerBegan?.(definition.run.handler.name);
      const result = await callHandler(definition.run, templateScope(context, gathered.outcomes), context);
      facts.handler = result;
      outcome = outcomeOf(result, start);
    }

    // Outcome: its effect at the point is the caller's business. Journal: the row, redacted.
    const disable = "disable" in outcome ? outcome.disable : undefined;
    outcome = await recordEnd(start, run, outcome, facts, deps);
    if (start.dryRun) return outcome;

    // A run that ends in time may still reach its dispatch after the deadline, and is dropped there.
    if (start.stored === undefined && start.signal.aborted) outcome = await recordDropped(start, run, outcome, deps);
    else if (start.stored === undefined) {
      const final = outcome;
      const drop = () => void recordDropped(start, run, final, deps);
      start.signal.addEventListener("abort", drop, { once: true });
    }

    // Notify: people, and hooks that listen for ends of runs.
    if (disable !== undefined) await deps.disable(definition, disable);
    deps.completed(definition, run.row, outcome);
    await deps.notify(definition, run.row, outcome, start.payload);
    return outcome;
  } finally {
    // Strangers must not be able to switch a hook off for all others: failures of their runs are counted nowhere.
    const isCounted = isSuccess(outcome) || !(await comesOfStranger(start, deps));
    await gate.leave(isCounted ? outcome : undefined);
  }
}

const isSuccess = (outcome: RunOutcome | undefined) => outcome?.status === "succeeded" || outcome?.status === "blocked";

type Gate =
  | Pass
  | Refusal
  | LoopRefusal
  | { kind: "refused"; gate: "paused"; reason: string }
  | { kind: "ended"; outcome: RunOutcome };

async function passGates(start: RunStart, deps: RunDeps): Promise<Gate> {
  const { definition, trigger, signal, stored, dryRun, cause } = start;
  if (dryRun) return { kind: "open", leave: async () => {} };
  const isManual = trigger === "manual";
  const isByHand = isManual || isHandId(start.dispatchId);
  if (deps.isPaused() && !isManual) return { kind: "refused", gate: "paused", reason: PAUSED_REASON };
  const loop = await cutLoop(definition.id, cause, deps);
  if (loop !== undefined) return loop;
  try {
    const onWait = (limit: string) => start.waits?.(limit);
    const isStored = stored !== undefined;
    const isRetry = isStored && start.attempt > 1;
    const gate = await deps.gates.enter({ definition, isManual, isByHand, isRetry, isStored, signal, onWait });
    start.waits?.(undefined);
    return gate;
  } catch {
    // The signal fired while it waited for room.
    return { kind: "ended", outcome: ended(signal) };
  }
}

/** When the hook started last, ms since the epoch. */
export async function lastStartedAt(hookId: string, runs: RunDeps["runs"]): Promise<number | undefined> {
  return (await runs.started(hookId, Number.MAX_SAFE_INTEGER)).lastStartedAt;
}

/**
 * Whether a stranger's message led to a run: people to whom the gateway does not listen write anything, as often as they like. It may be
 * the run itself, or a run that caused it, over any number of hooks. Stored payloads do not have the reason of a denial, so a hook that is
 * started by runs for messages in a listed room that do not mention the gateway counts as a stranger's, too.
 */
async function comesOfStranger({ point, payload, cause }: RunStart, { runs }: RunDeps): Promise<boolean> {
  if (isOfStranger(point.name, payload)) return true;
  for (let at = cause, steps = 0; at?.kind === "hook" && steps <= MAX_HOOK_DEPTH; steps++) {
    // A store that cannot be read must not keep the gate closed.
    const run = await runs.get(at.id).catch(() => undefined);
    if (run === undefined) return false;
    if (isDenied(run.payload)) return true;
    at = run.cause;
  }
  return false;
}

const isDenied = (payload: unknown) =>
  typeof payload === "object" && payload !== null && "access" in payload && payload.access === "denied";
