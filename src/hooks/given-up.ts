/**
 * Dispatches whose hooks are not called again, because the process ended while they ran, and the last that each hook of a plugin ended the
 * process in: nothing else has a record of them, as the journal records a dispatch at its end. The newest are kept.
 */
import type { KeyValueStore } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { LifecyclePhase } from "./point.js";

export interface GivenUp {
  point: string;
  /** Lifecycle points have one. */
  phase?: LifecyclePhase | undefined;
  dispatchId: string;
  crashes: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** No work waits for an operator because of it. */
  isSilent: boolean;
  /** The hook called `process.exit`. Its dispatch may be called again. */
  endedBy?: { hookId: string; exitCode: number } | undefined;
}

export interface GivenUpList {
  /** Oldest first. */
  list(): Promise<GivenUp[]>;
  /** Never rejects: what is given up is given up. */
  note(one: GivenUp): Promise<void>;
  /** The process ends. Throws when it cannot be written. */
  noteNow(one: GivenUp): void;
}

interface Deps {
  keyValue: Pick<KeyValueStore, "list" | "set" | "setNow" | "delete">;
  logger: Logger;
}

const SCOPE = "hooks.given-up";
const MAX_KEPT = 200;

/** A hook that ends the process again and again has one row. */
const keyOf = ({ dispatchId, endedBy }: GivenUp) => (endedBy === undefined ? dispatchId : `hook ${endedBy.hookId}`);

export function createGivenUpList({ keyValue, logger }: Deps): GivenUpList {
  const list = async () =>
    (await keyValue.list(SCOPE, "")).map(({ value }) => value as GivenUp).sort((one, other) => one.at - other.at);
  return {
    list,
    async note(one) {
      try {
        const known = (await list()).filter((other) => keyOf(other) !== keyOf(one));
        await keyValue.set(SCOPE, keyOf(one), one);
        for (const oldest of known.slice(0, Math.max(0, known.length + 1 - MAX_KEPT)))
          await keyValue.delete(SCOPE, keyOf(oldest));
      } catch (error) {
        logger.warn(
          { dispatch: one.dispatchId, error: errorMessage(error) },
          "a dispatch that was given up could not be recorded",
        );
      }
    },
    noteNow: (one) => keyValue.setNow(SCOPE, keyOf(one), one),
  };
}
