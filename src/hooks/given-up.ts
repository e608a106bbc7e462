/**
 * Dispatches whose hooks are not called again, because the process ended while they ran: nothing else has a record of them, as the journal
 * records a dispatch at its end. The newest are kept.
 */
import type { KeyValueStore } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { LifecyclePhase } from "./point.js";

export interface GivenUp {
  point: string;
  /** Of a lifecycle point. */
  phase?: LifecyclePhase | undefined;
  dispatchId: string;
  crashes: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** No work waits for an operator because of it. */
  isSilent: boolean;
}

export interface GivenUpList {
  /** Oldest first. */
  list(): Promise<GivenUp[]>;
  /** Never rejects: what is given up is given up. */
  note(one: GivenUp): Promise<void>;
}

interface Deps {
  keyValue: Pick<KeyValueStore, "list" | "set" | "delete">;
  logger: Logger;
}

const SCOPE = "hooks.given-up";
const MAX_KEPT = 200;

export function createGivenUpList({ keyValue, logger }: Deps): GivenUpList {
  const list = async () =>
    (await keyValue.list(SCOPE, "")).map(({ value }) => value as GivenUp).sort((one, other) => one.at - other.at);
  return {
    list,
    async note(one) {
      try {
        const known = (await list()).filter(({ dispatchId }) => dispatchId !== one.dispatchId);
        await keyValue.set(SCOPE, one.dispatchId, one);
        for (const { dispatchId } of known.slice(0, Math.max(0, known.length + 1 - MAX_KEPT)))
          await keyValue.delete(SCOPE, dispatchId);
      } catch (error) {
        logger.warn(
          { dispatch: one.dispatchId, error: errorMessage(error) },
          "a dispatch that was given up could not be recorded",
        );
      }
    },
  };
}
