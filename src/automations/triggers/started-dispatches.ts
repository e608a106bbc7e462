/** Dispatches that a trigger repeats after a crash. One that ends the process again and again is given up. */

import { type AttemptDeps, createAttempts } from "../../hooks/attempts.js";
import { createGivenUpList } from "../../hooks/given-up.js";

export interface StartedDispatches {
  /** Calls `fire` with the number of the attempt; not at all when it was given up. */
  run(point: string, dispatchId: string, fire: (attempt: number) => Promise<void>): Promise<void>;
  /** Its end is on disk: it will not come again. */
  ended(dispatchId: string): Promise<void>;
}

export const MAX_ATTEMPTS = 5;

export function createStartedDispatches(deps: AttemptDeps): StartedDispatches {
  const attempts = createAttempts(deps);
  return {
    async run(point, dispatchId, fire) {
      const attempt = await attempts.count(point, dispatchId);
      if (attempt <= MAX_ATTEMPTS) return fire(attempt);
      deps.logger.error(
        { point, dispatch: dispatchId },
        `given up: ${MAX_ATTEMPTS} times the gateway ended while it was handled`,
      );
      const at = deps.clock.now();
      await createGivenUpList(deps).note({ point, dispatchId, crashes: attempt - 1, at, isSilent: true });
    },
    ended: (dispatchId) => attempts.forget(dispatchId),
  };
}
