/** Dispatches as they lie in the journal's file, many together: what one searches by is read without reading all the rest. */
import type { DispatchRecord, Outcome } from "../../domain/journal.js";

export interface Records {
  readonly length: number;
  header(index: number): Header;
  dispatch(index: number): DispatchRecord;
}

/** What a record is searched by. */
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

export function isFailure(outcome: Outcome): boolean {
  return outcome === "failed" || outcome === "timed_out";
}

/** Whether something in it went wrong. */
export function hasFailed({ outcome, runs }: Pick<Header, "outcome" | "runs">): boolean {
  return isFailure(outcome) || runs.some((run) => isFailure(run.outcome));
}
