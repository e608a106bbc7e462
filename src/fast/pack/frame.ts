/**
 * A frame holds the parts that most records of a point have in common: everything but ids, times and values. Frames are in the
 * glossary of a pack, and a record names its frame.
 *
 * Benchmark: bench/fast.ts (pack).
 */
import type { DispatchRecord, Outcome, RunNames, RunRecord } from "../../domain/journal.js";
import type { ValueReader } from "./value-reader.js";
import type { ValueWriter } from "./value-writer.js";

export interface Frame {
  point: string;
  model: DispatchRecord["model"];
  phase: string | undefined;
  outcome: Outcome;
  attempt: number;
  isDryRun: boolean;
  /** Flags of the other parts that a record has; see below. */
  has: number;
  runs: FrameRun[];
}

export interface FrameRun {
  hookId: string;
  pluginId: string | undefined;
  position: number;
  outcome: Outcome;
  has: number;
}

export const HAS_CONVERSATION = 1;
export const HAS_MESSAGE_ID = 2;
export const HAS_CAUSE = 4;
export const HAS_RESULT = 8;
export const HAS_PROVENANCE = 16;

/** Flags of the parts of a run that most runs lack. */
export const HAS_OWN_ID = 1;
export const HAS_REASON = 2;
export const HAS_ERROR = 4;
export const HAS_DIFF = 8;
/** The run has another attempt than the dispatch. */
export const HAS_ATTEMPT = 16;
export const HAS_PLACE = 32;
export const IS_UNANSWERED = 64;

export function frameOf(dispatch: DispatchRecord, names: RunNames | undefined): Frame {
  const { point, model, phase, outcome, attempt, dryRun, runs } = dispatch;
  return {
    point,
    model,
    phase,
    outcome,
    attempt,
    isDryRun: dryRun,
    has: partsOf(dispatch),
    runs: runs.map((run) => ({
      hookId: run.hookId,
      pluginId: run.pluginId,
      position: run.position,
      outcome: run.outcome,
      has: partsOfRun(run, dispatch, names),
    })),
  };
}

/** Whether the dispatch, which is of the same point, would have the same frame. Mostly it does, and its texts are the same objects. */
export function isFrameOf(frame: Frame, dispatch: DispatchRecord, names: RunNames | undefined): boolean {
  const { runs } = dispatch;
  if (
    frame.outcome !== dispatch.outcome ||
    frame.runs.length !== runs.length ||
    frame.has !== partsOf(dispatch) ||
    frame.attempt !== dispatch.attempt ||
    frame.isDryRun !== dispatch.dryRun ||
    frame.model !== dispatch.model ||
    frame.phase !== dispatch.phase
  )
    return false;
  for (let i = 0; i < runs.length; i++) {
    const known = frame.runs[i] as FrameRun;
    const run = runs[i] as RunRecord;
    if (
      known.hookId !== run.hookId ||
      known.outcome !== run.outcome ||
      known.position !== run.position ||
      known.pluginId !== run.pluginId ||
      known.has !== partsOfRun(run, dispatch, names)
    )
      return false;
  }
  return true;
}

function partsOf({ conversation, messageId, cause, result, provenance }: DispatchRecord): number {
  return (
    (conversation === undefined ? 0 : HAS_CONVERSATION) |
    (messageId === undefined ? 0 : HAS_MESSAGE_ID) |
    (cause === undefined ? 0 : HAS_CAUSE) |
    (result === undefined ? 0 : HAS_RESULT) |
    (provenance === undefined ? 0 : HAS_PROVENANCE)
  );
}

function partsOfRun(run: RunRecord, { id, attempt }: DispatchRecord, names: RunNames | undefined): number {
  return (
    (names === "usual" || run.id === `${id}/${run.position}` ? 0 : HAS_OWN_ID) |
    (run.reason === undefined ? 0 : HAS_REASON) |
    (run.error === undefined ? 0 : HAS_ERROR) |
    (run.diff === undefined ? 0 : HAS_DIFF) |
    (run.place === undefined ? 0 : HAS_PLACE) |
    (run.unanswered === undefined ? 0 : IS_UNANSWERED) |
    (run.attempt === attempt ? 0 : HAS_ATTEMPT)
  );
}

/** `texts`: the writer that has the table of texts. */
export function writeFrame(frame: Frame, out: ValueWriter, texts: ValueWriter): void {
  const { point, model, phase, outcome, attempt, isDryRun, has, runs } = frame;
  const text = (one: string) => out.count(texts.text(one));
  const optional = (one: string | undefined) => out.count(one === undefined ? 0 : texts.text(one) + 1);
  text(point);
  text(model);
  optional(phase);
  text(outcome);
  out.count(attempt);
  out.count(isDryRun ? 1 : 0);
  out.count(has);
  out.count(runs.length);
  for (const run of runs) {
    text(run.hookId);
    optional(run.pluginId);
    out.count(run.position);
    text(run.outcome);
    out.count(run.has);
  }
}

export function readFrame(from: ValueReader): Frame {
  const frame: Frame = {
    point: from.text(),
    model: from.text() as DispatchRecord["model"],
    phase: from.optionalText(),
    outcome: from.text() as Outcome,
    attempt: from.count(),
    isDryRun: from.count() === 1,
    has: from.count(),
    runs: [],
  };
  for (let left = from.count(); left > 0; left--)
    frame.runs.push({
      hookId: from.text(),
      pluginId: from.optionalText(),
      position: from.count(),
      outcome: from.text() as Outcome,
      has: from.count(),
    });
  return frame;
}
