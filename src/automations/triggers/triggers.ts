/** All that starts hooks besides messages and people: time, files, events. */

import type { Attempts } from "../../hooks/attempts.js";
import { createIngested, inJournal, MAX_ATTEMPTS } from "./ingested.js";
import { createTimed } from "./timed.js";
import type { TriggerDeps, Triggers } from "./trigger.js";
import { createWatches } from "./watches.js";

/** Paths of one watch. */
const MAX_WATCHED = 20_000;

export type TriggerAttempts = Pick<Attempts, "inTurn" | "count" | "tooMany" | "forget">;

interface WatchLimits {
  maxWatched?: number;
  /** A real path that the gateway itself writes: no watch reports it. */
  isOwnFile?(path: string): boolean;
}

export function createTriggers(
  { attempts, ...deps }: TriggerDeps & { attempts: TriggerAttempts },
  { maxWatched = MAX_WATCHED, isOwnFile = () => false }: WatchLimits = {},
): Triggers {
  const { registry, store, clock, logger } = deps;
  const timed = createTimed({ ...deps, store: store.triggers });
  const watches = createWatches({
    store: store.snapshots,
    runs: store.runs,
    keyValue: deps.keyValue,
    maxWatched,
    isOwnFile,
    clock,
    logger,
    fire: (change, dispatchId, cause) =>
      attempts.inTurn([{ point: change.point, dispatchId }], dispatchId, async () => {
        const attempt = await attempts.count(change.point, dispatchId);
        const limits = { limit: MAX_ATTEMPTS - 1, isSilent: true };
        if ((await attempts.tooMany(change.point, dispatchId, attempt, limits)) !== undefined) return;
        const firing = { dispatchId, attempt, cause };
        const fired =
          change.point === "file.changed"
            ? registry.fireVoid(change.point, change.payload, undefined, firing)
            : registry.fireVoid(change.point, change.payload, undefined, firing);
        await fired.catch(inJournal);
      }),
    settled: (dispatchId) => attempts.forget(dispatchId),
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
