/** The runs that led to a run, from row to row: over causes that are certain, and over files, whose writer is presumed. */
import type { AutomationRunStore, RunSpan } from "../../domain/automation.js";

export interface Lineage {
  /** Newest first; starts with the run itself. */
  runs: readonly RunSpan[];
  /** The depth, in runs, of a run that this one causes. */
  depth: number;
  /** Only the presumed runs were under way, all the time. */
  isSole: boolean;
}

export type LineageOf = (run: RunSpan) => Promise<Lineage>;

/** A chain that is longer is as good as endless. */
const MAX_RUNS = 32;
const MAX_REMEMBERED = 2_000;

/** The lineage of a run never changes, so it is remembered: where many files change, the same lineage is requested many times. */
export function createLineages(runs: Pick<AutomationRunStore, "span">): LineageOf {
  const known = new Map<string, Promise<Lineage>>();

  function remembered(run: RunSpan, generations: number): Promise<Lineage> {
    const before = known.get(run.id);
    if (before !== undefined) return before;
    const found = read(run, generations);
    if (generations > 0) return found; // cut short somewhere, if it is long
    for (const id of known.keys()) if (known.size >= MAX_REMEMBERED) known.delete(id);
    known.set(run.id, found);
    found.catch(() => known.delete(run.id));
    return found;
  }

  async function read(run: RunSpan, generations: number): Promise<Lineage> {
    const { cause } = run;
    if (cause?.kind !== "hook" && cause?.kind !== "file") return { runs: [run], depth: 1, isSole: true };
    const isOwnSole = cause.kind === "hook" || cause.presumed?.isSole === true;
    const parent = generations < MAX_RUNS ? await runs.span(cause.id) : undefined;
    // A plugin's run is no row, and old rows are swept: the recorded depth of such runs counts.
    if (parent === undefined)
      return { runs: [run], depth: 1 + (cause.presumed?.depth ?? cause.depth), isSole: isOwnSole };
    const above = await remembered(parent, generations + 1);
    return {
      runs: [run, ...above.runs].slice(0, MAX_RUNS),
      depth: above.depth + 1,
      isSole: isOwnSole && above.isSole,
    };
  }

  return (run) => remembered(run, 0);
}
