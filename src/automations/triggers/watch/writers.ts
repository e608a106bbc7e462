/**
 * The runs that may have written the changed files. The system does not record the writer of a file, so these are the runs that were
 * under way at the change, or had just ended.
 */
import type { AutomationRunStore, RunSpan } from "../../../domain/automation.js";
import type { Cause } from "../../../domain/journal.js";
import type { Lineage, LineageOf } from "../../run/lineage.js";

/** When a file was written, or seen to be gone: up to `lateMs` after it was. */
export interface Written {
  at: number;
  lateMs: number;
}

export interface Writers {
  /** Whether each change may be the work of one of these writers. */
  explain(which: (writer: Writer) => boolean, withinMs?: number): boolean;
  /** Writers that were under way at the latest change, or had ended at most so long before. */
  ofLatest(withinMs?: number): readonly Writer[];
}

export interface Writer extends Lineage {
  run: RunSpan;
}

/** Work that a run gives to others (a message, a task, a program that went on) may come a moment after the run. */
export const LINGER_MS = 2_000;
/** The clock of file systems lags behind. */
const LAG_MS = 20;
const LOOKED_AT = 100;

export async function writersOf(
  written: readonly Written[],
  now: number,
  { runs, lineageOf }: { runs: Pick<AutomationRunStore, "spans">; lineageOf: LineageOf },
  lingerMs = LINGER_MS,
): Promise<Writers> {
  const from = Math.min(...written.map(({ at, lateMs }) => at - lateMs));
  const latest = latestOf(written);
  const spans = await runs.spans(from - lingerMs, latest.at + LAG_MS, LOOKED_AT);
  const writers = await Promise.all(spans.map(async (run) => ({ run, ...(await lineageOf(run)) })));
  return {
    explain: (which, withinMs = lingerMs) =>
      written.every((one) => writers.some((writer) => which(writer) && isDuring(writer.run, one, now, withinMs))),
    ofLatest: (withinMs = lingerMs) => writers.filter(({ run }) => isDuring(run, latest, now, withinMs)),
  };
}

export const latestOf = (written: readonly Written[]): Written =>
  written.reduce((one, other) => (other.at > one.at ? other : one));

function isDuring({ startedAt, endedAt }: RunSpan, { at, lateMs }: Written, now: number, lingerMs: number): boolean {
  return startedAt !== undefined && at >= startedAt - LAG_MS && at - lateMs <= (endedAt ?? now) + lingerMs;
}

/** The writer is the presumed cause of the firing. */
export function causeBy(writer: Writer, isSole: boolean): Cause {
  const presumed = { depth: writer.depth, isSole: isSole && writer.isSole };
  return { kind: "file", id: writer.run.id, depth: 0, presumed };
}
