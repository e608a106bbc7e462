/** Touched files until they have been quiet for a while: each on its own, or (for a folder watch) all together. */
import type { TriggerOf } from "../../definition/definition.js";

/** Something is written without a pause: it counts at the latest after this many quiet times. */
const MAX_QUIETS = 20;
const MIN_PATIENCE_MS = 5_000;
/** The one batch of a folder watch. */
const ALL = "";

export interface Touched {
  at: number;
  /** The file was gone at that moment, even if it is there when it is read. */
  wasDeleted: boolean;
}

export interface Batches {
  /** Gives the batch of the file, and when to look at the batch. */
  touch(path: string, how: Touched): { batch: string; dueAt: number };
  dueAt(batch: string): number | undefined;
  /** Path → whether it was gone in between. */
  take(batch: string): ReadonlyMap<string, boolean>;
}

interface Batch {
  firstAt: number;
  lastAt: number;
  paths: Map<string, boolean>;
}

export function createBatches({ as, debounceMs }: Pick<TriggerOf<"files">, "as" | "debounceMs">): Batches {
  const batches = new Map<string, Batch>();
  const patienceMs = Math.max(debounceMs * MAX_QUIETS, MIN_PATIENCE_MS);
  const due = ({ firstAt, lastAt }: Batch) => Math.min(lastAt + debounceMs, firstAt + patienceMs);
  return {
    touch(path, { at, wasDeleted }) {
      const name = as === "file" ? path : ALL;
      const batch = batches.get(name) ?? { firstAt: at, lastAt: at, paths: new Map<string, boolean>() };
      batch.lastAt = at;
      batch.paths.set(path, wasDeleted || (batch.paths.get(path) ?? false));
      batches.set(name, batch);
      return { batch: name, dueAt: due(batch) };
    },
    dueAt(name) {
      const batch = batches.get(name);
      return batch && due(batch);
    },
    take(name) {
      const paths = batches.get(name)?.paths ?? new Map<string, boolean>();
      batches.delete(name);
      return paths;
    },
  };
}
