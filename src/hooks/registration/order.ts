/** The order of hooks: priority, then rank, then registration order, and above all `after` and `before`. */
import type { Entry } from "./entry.js";

/** Priority ascending, then rank (of those that are in a file: `Roster.arrange`), then registration order. */
export function byPriority(a: Entry, b: Entry): number {
  return a.priority - b.priority || a.rank - b.rank || a.seq - b.seq;
}
/** The turn model's: priority, then id. */
export function byPriorityThenId(a: Entry, b: Entry): number {
  return a.priority - b.priority || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/**
 * The entries of one point (and phase) in the order in which they run. Dependencies on absent hooks are no obstacle here,
 * and the members of a cycle come last, by priority: `validate` reports both, and a load refuses them.
 */
export function orderEntries(entries: readonly Entry[]): Entry[] {
  const sorted = [...entries].sort(byPriority);
  if (!sorted.some(hasDependencies)) return sorted;
  const needs = needsOf(sorted);
  const ordered: Entry[] = [];
  const done = new Set<Entry>();
  for (let round = 0; round < sorted.length; round++) {
    const next = sorted.find((entry) => !done.has(entry) && isReady(needs.get(entry), done));
    if (next === undefined) break;
    done.add(next);
    ordered.push(next);
  }
  return ordered.length === sorted.length ? ordered : [...ordered, ...sorted.filter((entry) => !done.has(entry))];
}

/** Like `orderEntries`, in groups: all entries of a batch may run at once, because all that they wait for is in earlier batches. */
export function batchEntries(entries: readonly Entry[]): Entry[][] {
  const sorted = [...entries].sort(byPriorityThenId);
  if (!sorted.some(hasDependencies)) return sorted.length === 0 ? [] : [sorted];
  const needs = needsOf(sorted);
  const done = new Set<Entry>();
  const batches: Entry[][] = [];
  while (done.size < sorted.length) {
    const ready = sorted.filter((entry) => !done.has(entry) && isReady(needs.get(entry), done));
    const batch = ready.length > 0 ? ready : sorted.filter((entry) => !done.has(entry));
    batches.push(batch);
    for (const entry of batch) done.add(entry);
  }
  return batches;
}

function hasDependencies({ options }: Entry): boolean {
  return (options.after?.length ?? 0) > 0 || (options.before?.length ?? 0) > 0;
}

/** For each entry, those that must come first; only among the given ones. */
export function needsOf(entries: readonly Entry[]): Map<Entry, Set<Entry>> {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const needs = new Map<Entry, Set<Entry>>(entries.map((entry) => [entry, new Set()]));
  for (const entry of entries) {
    for (const id of entry.options.after ?? []) {
      const first = byId.get(id);
      if (first !== undefined) needs.get(entry)?.add(first);
    }
    for (const id of entry.options.before ?? []) {
      const second = byId.get(id);
      if (second !== undefined) needs.get(second)?.add(entry);
    }
  }
  return needs;
}

function isReady(needs: Set<Entry> | undefined, done: Set<Entry>): boolean {
  if (needs !== undefined) for (const need of needs) if (!done.has(need)) return false;
  return true;
}

/** Each cycle once, as the ids along it. */
export function findCycles(entries: readonly Entry[]): string[][] {
  const needs = needsOf(entries);
  const cycles: string[][] = [];
  const finished = new Set<Entry>();
  const visit = (entry: Entry, trail: Entry[]): void => {
    if (finished.has(entry)) return;
    const at = trail.indexOf(entry);
    if (at >= 0) {
      cycles.push(trail.slice(at).map(({ id }) => id));
      return;
    }
    for (const need of needs.get(entry) ?? []) visit(need, [...trail, entry]);
    finished.add(entry);
  };
  for (const entry of [...entries].sort(byPriority)) visit(entry, []);
  return cycles;
}
