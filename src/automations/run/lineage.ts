/** Through which runs something came, from row to row: over causes that are certain, and over files, whose writer is presumed. */
import type { AutomationRunStore, RunSpan } from "../../domain/automation.js";

export interface Lineage {
  /** Newest first; begins with the run itself. */
  runs: readonly RunSpan[];
  /** How many runs deep that is which this one causes. */
  depth: number;
  /** Nobody but the presumed ones was at work, all the way. */
  isSole: boolean;
}

/** A chain that is longer is as good as endless. */
const MAX_RUNS = 32;

export async function lineageOf(run: RunSpan, runs: Pick<AutomationRunStore, "span">): Promise<Lineage> {
  const found = [run];
  let isSole = true;
  for (let at = run; ; ) {
    const { cause } = at;
    if (cause?.kind === "file") isSole &&= cause.presumed?.isSole === true;
    if (cause?.kind !== "hook" && cause?.kind !== "file") return { runs: found, depth: found.length, isSole };
    const before = found.length < MAX_RUNS ? await runs.span(cause.id) : undefined;
    // A plugin's run is no row, and old rows are swept: what is on record of their depth counts.
    if (before === undefined)
      return { runs: found, depth: found.length + (cause.presumed?.depth ?? cause.depth), isSole };
    found.push(before);
    at = before;
  }
}
