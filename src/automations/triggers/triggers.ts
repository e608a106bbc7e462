/** All that starts hooks besides messages and people: time, files, events. */

import { createIngested, inJournal } from "./ingested.js";
import { createStartedDispatches } from "./started-dispatches.js";
import { createTimed } from "./timed.js";
import type { TriggerDeps, Triggers } from "./trigger.js";
import { createWatches } from "./watches.js";

/** Paths of one watch. */
const MAX_WATCHED = 20_000;

interface WatchLimits {
  maxWatched?: number;
  /** A real path that the gateway itself writes: no watch reports it. */
  isOwnFile?(path: string): boolean;
}

export function createTriggers(
  deps: TriggerDeps,
  { maxWatched = MAX_WATCHED, isOwnFile = () => false }: WatchLimits = {},
): Triggers {
  const { registry, store, clock, logger } = deps;
  const started = createStartedDispatches(deps);
  const timed = createTimed({ ...deps, store: store.triggers });
  const watches = createWatches({
    store: store.snapshots,
    runs: store.runs,
    keyValue: deps.keyValue,
    maxWatched,
    isOwnFile,
    clock,
    logger,
    async fire(change, dispatchId, cause) {
      await started.run(change.point, dispatchId, async (attempt) => {
        const firing = { dispatchId, attempt, cause };
        const fired =
          change.point === "file.changed"
            ? registry.fireVoid(change.point, change.payload, undefined, firing)
            : registry.fireVoid(change.point, change.payload, undefined, firing);
        await fired.catch(inJournal);
      });
    },
    settled: started.ended,
    held: deps.held,
  });
  const ingested = createIngested({ ...deps, runs: store.runs, store: store.ingest });
  return {
    async sync(definitions, broken) {
      await Promise.all([timed.sync(definitions, broken), watches.sync(definitions, broken)]);
      await ingested.resume();
    },
    wake: (hookId) => timed.wake(hookId),
    release: watches.release,
    ingested: ingested.added,
    waitingEvents: ingested.waiting,
    next: () => timed.next(),
    problems: () => [...timed.problems(), ...watches.problems()],
    async stop() {
      await Promise.all([timed.stop(), watches.stop(), ingested.stop()]);
    },
  };
}
