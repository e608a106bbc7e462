/**
 * Dispatches as they are in the journal's file, many together: the searched fields are read without reading all the rest.
 * Benchmark: bench/fast.ts (pack).
 */
import type { DispatchRecord, Outcome, RunRecord } from "../../domain/journal.js";
import { HAS_ATTEMPT, HAS_DIFF, HAS_ERROR, HAS_PLACE, HAS_REASON, IS_UNANSWERED } from "./frame.js";
import type { ValueReader } from "./value-reader.js";

/** The fields by which a record is searched. */
export interface Header {
  id: string;
  point: string;
  at: number;
  outcome: Outcome;
  isDryRun: boolean;
  conversation: string | undefined;
  messageId: string | undefined;
  runs: RunHeader[];
}

export interface RunHeader {
  hookId: string;
  position: number;
  outcome: Outcome;
  latencyMs: number;
  /** Only where it is not made of the dispatch's id and the position. */
  ownId: string | undefined;
}

/** The parts of a dispatch beside its header and its runs; an absent part has no field in the record. */
type Rest = Pick<DispatchRecord, "model" | "latencyMs" | "attempt"> & { readPayload(): unknown } & {
  [Part in "phase" | "cause" | "result" | "provenance"]: DispatchRecord[Part] | undefined;
};

/**
 * Makes a record. Its payload can be larger than all the rest by far: it is made each time that it is asked for, so that a list of
 * records costs and holds only the parts that are shown.
 */
export function recordOf(
  { id, point, at, outcome, isDryRun, conversation, messageId }: Header,
  { model, latencyMs, readPayload, attempt, phase, cause, result, provenance }: Rest,
  runs: RunRecord[],
): DispatchRecord {
  return {
    id,
    point,
    model,
    at,
    latencyMs,
    get payload() {
      return readPayload();
    },
    attempt,
    dryRun: isDryRun,
    outcome,
    runs,
    phase,
    cause,
    conversation,
    messageId,
    result,
    provenance,
  };
}

/** `has`: flags of the parts of a run that are there to read. */
export function readRun(
  { hookId, position, outcome, latencyMs, ownId }: RunHeader,
  pluginId: string | undefined,
  has: number,
  dispatch: Pick<DispatchRecord, "id" | "attempt">,
  from: ValueReader,
): RunRecord {
  const id = ownId ?? `${dispatch.id}/${position}`;
  const run: RunRecord = { id, hookId, position, outcome, latencyMs, attempt: dispatch.attempt };
  if (pluginId !== undefined) run.pluginId = pluginId;
  if (has & HAS_REASON) run.reason = from.text();
  if (has & HAS_ERROR) run.error = from.text();
  if (has & HAS_DIFF) run.diff = from.value();
  if (has & HAS_ATTEMPT) run.attempt = from.count();
  if (has & HAS_PLACE) run.place = from.text();
  if (has & IS_UNANSWERED) run.unanswered = true;
  return run;
}

export function isFailure(outcome: Outcome): boolean {
  return outcome === "failed" || outcome === "timed_out";
}

/** Whether something in it went wrong. */
export function hasFailed({ outcome, runs }: Pick<Header, "outcome" | "runs">): boolean {
  return isFailure(outcome) || runs.some((run) => isFailure(run.outcome));
}
