/** Records the start and the end of a run. */
import { type AttemptRecord, type AutomationRun, failedCallsText, type StepRecord } from "../../domain/automation.js";
import { untilWritten } from "../../lib/concurrency/until-written.js";
import { errorMessage } from "../../lib/errors.js";
import { retryPauseMs } from "../../lib/time/backoff.js";
import { formatDuration } from "../../lib/time/duration.js";
import type { HandlerFacts } from "../handler.js";
import { namesNoHere } from "../notify.js";
import { countedAttempt } from "../queue/settle.js";
import type { RunDeps, RunStart } from "./deps.js";
import type { History } from "./history.js";
import type { OpenRun } from "./open-run.js";
import { type RunOutcome, reasonOf } from "./outcome.js";
import { ended } from "./outcome-of.js";

/** The run passed the gates: the attempt is on disk before anything is done, so that a crash counts. */
export async function recordStart(start: RunStart, run: OpenRun, deps: RunDeps): Promise<void> {
  const { row } = run;
  const now = deps.clock.now();
  // Taking a stored run counted its attempt.
  if (start.stored === undefined) row.attempt++;
  row.status = "running";
  delete row.statusReason;
  row.startedAt = now;
  row.attempts = [...row.attempts, { attempt: row.attempt, startedAt: now, status: "running", steps: [] }];
  if (start.dryRun) return;
  deps.leases.hold(row.id);
  row.leaseOwner = deps.leases.owner;
  row.leaseUntil = now + deps.leases.leaseMs;
  if (run.isStored) await deps.runs.update(row, start.stored === undefined ? undefined : deps.leases.owner);
  else run.isStored = await deps.runs.insert(row);
}

/** Gives the outcome after that: a failure that is tried again is queued. */
export async function recordEnd(
  start: RunStart,
  run: OpenRun,
  outcome: RunOutcome,
  facts: { steps?: readonly StepRecord[]; handler?: HandlerFacts },
  deps: RunDeps,
): Promise<RunOutcome> {
  const now = deps.clock.now();
  const { row, history } = run;
  const final = withRetry(start, row, outcome, now);
  const reason = reasonOf(final) ?? failedCallsText(facts.handler ?? {});
  row.status = final.status;
  if (reason === undefined) delete row.statusReason;
  else row.statusReason = shownReason(final, reason, history);
  endAttempt(row, outcome, history, facts, now);
  const { definition, payload, dryRun } = start;
  const last = row.attempts.at(-1);
  const isTold = !dryRun && definition.notify?.on.some((one) => one === final.status);
  if (last && isTold && namesNoHere(definition.notify, row, payload)) last.noHere = true;
  delete row.leaseOwner;
  delete row.leaseUntil;
  if (final.status === "queued") row.dueAt = final.dueAt;
  else {
    row.endedAt = now;
    delete row.pendingPayload;
  }
  if ("decision" in final && final.decision !== undefined) row.decision = final.decision;
  start.progress?.recorded?.(row);
  if (!start.dryRun) await write(start, run, deps);
  return final;
}

/** The dispatch dropped the decision of the run: the result came after the deadline, or the caller gave up. */
export async function recordDropped(
  start: RunStart,
  run: OpenRun,
  outcome: RunOutcome,
  deps: RunDeps,
): Promise<RunOutcome> {
  if (outcome.status !== "succeeded" && outcome.status !== "blocked" && outcome.status !== "skipped") return outcome;
  const { row, history } = run;
  const dropped = ended(start.signal);
  const reason = history.text(reasonOf(dropped) ?? dropped.status);
  const last = row.attempts.at(-1);
  row.status = dropped.status;
  row.statusReason = reason;
  delete row.decision;
  if (last !== undefined)
    row.attempts = [...row.attempts.slice(0, -1), { ...last, status: dropped.status, error: reason }];
  await write(start, run, deps);
  return dropped;
}

/** The reason of a skipped run comes from gates and conditions, and quotes no one. */
function shownReason({ status }: RunOutcome, reason: string, history: History): string {
  return status === "skipped" ? history.ownWords(reason) : history.text(reason);
}

async function write(start: RunStart, run: OpenRun, deps: RunDeps): Promise<void> {
  const { row } = run;
  const { runs, leases, logger } = deps;
  const named = { hook: row.hookId, run: row.id };
  const store = async () => {
    if (!run.isStored) run.isStored = await runs.insert(row);
    else if (!(await runs.update(row, start.stored === undefined ? undefined : leases.owner)))
      logger.warn(named, "a run ended, and how could not be recorded: its row was ended, changed or deleted meanwhile");
  };
  try {
    // Callers that wait for the other runs do not wait for their history.
    await (start.stored === undefined ? store() : untilWritten(named, store, deps));
  } catch (error) {
    // The decision of the run holds; only its history is missing.
    logger.error({ ...named, error: errorMessage(error) }, "a run could not be recorded");
  } finally {
    leases.drop(row.id);
  }
}

function endAttempt(
  row: AutomationRun,
  outcome: RunOutcome,
  history: History,
  { steps = [], handler = {} }: { steps?: readonly StepRecord[]; handler?: HandlerFacts },
  now: number,
): void {
  const last = row.attempts.at(-1);
  if (last?.status !== "running") return;
  const error = outcome.status === "succeeded" ? undefined : reasonOf(outcome);
  const { rendered, output, toolCalls, usage } = handler;
  const ended: AttemptRecord = {
    ...last,
    endedAt: now,
    status: outcome.status === "queued" ? "failed" : outcome.status,
    error: error === undefined ? last.error : shownReason(outcome, error, history),
    steps: steps.map((step) => history.value(step) as StepRecord),
    rendered: rendered === undefined ? last.rendered : history.text(rendered),
    toolCalls:
      toolCalls === undefined ? last.toolCalls : (history.value(toolCalls) as AttemptRecord["toolCalls"] & object),
    usage: usage ?? last.usage,
    output: output === undefined ? last.output : history.value(output),
  };
  row.attempts = [...row.attempts.slice(0, -1), ended];
}

/** A stored run that may happen twice goes back into the queue, while it has attempts left. */
function withRetry(
  { definition: { retry }, stored }: RunStart,
  row: AutomationRun,
  outcome: RunOutcome,
  now: number,
): RunOutcome {
  if (stored === undefined || retry === undefined) return outcome;
  if (outcome.status === "interrupted")
    return { status: "queued", dueAt: now, reason: outcome.reason, wasStopped: true };
  if (outcome.status !== "failed" && outcome.status !== "timed_out") return outcome;
  const made = countedAttempt(row);
  if (!outcome.isRetryable || outcome.disable !== undefined || made >= retry.attempts) return outcome;
  const pauseMs = Math.max(outcome.retryAfterMs ?? 0, retryPauseMs(retry.backoffMs, made));
  const reason = `attempt ${made} of ${retry.attempts} failed, the next in ${formatDuration(pauseMs)}: ${outcome.error}`;
  return { status: "queued", dueAt: now + pauseMs, reason };
}
