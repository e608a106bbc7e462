/**
 * How many tasks are in which state: counted once at start, and kept up with every change, so that a tick costs the same for ten and for a
 * million.
 */
import type { TaskStatus } from "../domain/orchestrator/task.js";

export interface Counts {
  load(counts: Record<TaskStatus, number>): void;
  moved(from: TaskStatus | undefined, to: TaskStatus): void;
  readonly all: Readonly<Record<TaskStatus, number>>;
  /** The counts that `orchestrator:tick` reports. */
  summary(): { pending: number; running: number; done: number; failed: number };
}

export function createCounts(none: Record<TaskStatus, number>): Counts {
  let counts = { ...none };
  return {
    load(loaded) {
      counts = { ...loaded };
    },
    moved(from, to) {
      if (from === to) return;
      if (from !== undefined) counts[from]--;
      counts[to]++;
    },
    get all() {
      return counts;
    },
    summary: () => ({
      pending: counts.pending + counts.assigned,
      running: counts.in_progress,
      done: counts.done,
      failed: counts.failed,
    }),
  };
}
