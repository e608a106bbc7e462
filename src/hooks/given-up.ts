/**
 * Dispatches whose hooks are not called again, because the process ended while they ran, and the last time that each hook and command of a
 * plugin ended the process: nothing else has a record of them, as the journal records a dispatch at its end. The newest are kept.
 */
import type { KeyValueStore } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { LifecyclePhase } from "./point.js";

/** The caller of `process.exit`. Without hook and command, it is a timer of the plugin, or other work that no handler waits for. */
export interface Ender {
  exitCode: number;
  hookId?: string;
  /** Where no hook ended the process. */
  plugin?: string;
  command?: string;
  isRoute?: boolean;
}

export interface GivenUp {
  /** Empty where the process was ended by no hook, or by none that exists any more. */
  point: string;
  /** Lifecycle points have one. */
  phase?: LifecyclePhase | undefined;
  /** For a command and the default route: the start of the ids of their dispatches, empty where there is none. */
  dispatchId: string;
  crashes: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** No work waits for an operator because of it. */
  isSilent: boolean;
  /** The plugin called `process.exit`. The dispatch of its hook may be called again. */
  endedBy?: Ender | undefined;
}

export interface GivenUpList {
  /** Oldest first. */
  list(): Promise<GivenUp[]>;
  /** Never rejects: a dispatch that is given up is given up. */
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

/** A hook, command or plugin that ends the process again and again has one row. */
function keyOf({ dispatchId, endedBy }: GivenUp): string {
  if (endedBy === undefined) return dispatchId;
  const { hookId, plugin, command, isRoute } = endedBy;
  if (hookId !== undefined) return `hook ${hookId}`;
  return command === undefined ? `${isRoute ? "route" : "work"} of ${plugin}` : `command ${command}`;
}

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
