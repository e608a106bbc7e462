/**
 * How often a dispatch was started, for what is asked or reported again under the same id after a crash. Counted on disk before the
 * dispatch starts, and forgotten with its result: the store puts writes of one moment into one transaction, so a caller that writes the
 * result and forgets without waiting in between leaves neither without the other. Background hooks are rows and count for themselves:
 * where nothing else listens, nothing is written.
 */
import type { KeyValueStore } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { LifecyclePhase } from "./point.js";
import type { HookRegistry } from "./registry.js";

export interface Attempts {
  /**
   * Counts a start that follows at once; resolves with its number, from 1. `owner`: what `forget` names, the dispatch itself when absent.
   * `phase`: at a lifecycle point, `before` when absent.
   */
  count(point: string, dispatchId: string, of?: { owner?: string; phase?: LifecyclePhase }): Promise<number>;
  /** How often this dispatch of the owner was started, so far. */
  starts(owner: string, dispatchId: string): Promise<number>;
  /** Why this attempt does not call the hooks: the process ended at each of too many before it. Logged. */
  tooMany(point: string, dispatchId: string, attempt: number): TooManyCrashes | undefined;
  /** The results of this owner's dispatches are being written: none of them is started again. Never rejects. */
  forget(owner: string): Promise<void>;
}

export interface TooManyCrashes {
  crashes: number;
  /** In words. */
  reason: string;
}

export interface AttemptParts {
  keyValue: Pick<KeyValueStore, "list" | "set" | "delete">;
  registry: Pick<HookRegistry, "hasWaiting">;
  logger: Logger;
  /** After how many crashes in a row a dispatch is still started again; absent: after any number. */
  maxCrashes?: () => number;
}

/** By dispatch id. */
type Starts = Readonly<Record<string, number>>;

const SCOPE = "hooks.attempts";

export function createAttempts({ keyValue, registry, logger, maxCrashes }: AttemptParts): Attempts {
  /** By owner: what is under way, and what the end of an earlier process left. */
  let loading: Promise<Map<string, Starts>> | undefined;

  async function load(): Promise<Map<string, Starts>> {
    loading ??= keyValue
      .list(SCOPE, "")
      .then((rows) => new Map(rows.map(({ key, value }) => [key, value as Starts])))
      .catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
    return loading;
  }

  return {
    async count(point, dispatchId, { owner = dispatchId, phase } = {}) {
      if (!registry.hasWaiting(point, phase)) return 1;
      const known = await load();
      const starts = known.get(owner);
      const attempt = (starts?.[dispatchId] ?? 0) + 1;
      const counted = { ...starts, [dispatchId]: attempt };
      known.set(owner, counted);
      await keyValue.set(SCOPE, owner, counted);
      return attempt;
    },
    async starts(owner, dispatchId) {
      return (await load()).get(owner)?.[dispatchId] ?? 0;
    },
    tooMany(point, dispatchId, attempt) {
      const crashes = attempt - 1;
      if (maxCrashes === undefined || crashes <= maxCrashes()) return undefined;
      const reason = `the gateway crashed ${crashes} times in a row while hooks at ${point} ran`;
      logger.warn({ point, dispatch: dispatchId, crashes }, `${reason}: they are not called again by themselves`);
      return { crashes, reason };
    },
    async forget(owner) {
      try {
        if ((await load()).delete(owner)) await keyValue.delete(SCOPE, owner);
      } catch (error) {
        // What was done stays done; the row says no more than that a dispatch was started.
        logger.warn({ owner, error: errorMessage(error) }, "the count of a dispatch's starts could not be deleted");
      }
    },
  };
}
