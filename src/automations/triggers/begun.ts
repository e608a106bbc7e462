/**
 * Dispatches that a trigger hands over again after a crash. Background hooks are rows and know by themselves; whoever else listens
 * (a plugin, a hook that is waited for) is told that this is another attempt, counted on disk before it begins. One that ends the
 * process again and again is given up.
 */
import type { KeyValueStore } from "../../domain/store.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { Logger } from "../../lib/logger.js";

export interface BegunParts {
  keyValue: Pick<KeyValueStore, "get" | "set" | "delete">;
  registry: Pick<HookRegistry, "hasWaiting">;
  logger: Logger;
}

export interface Begun {
  /** Calls `fire` with the number of the attempt; not at all when it was given up. */
  hand(point: string, dispatchId: string, fire: (attempt: number) => Promise<void>): Promise<void>;
  /** It is on disk that it was handed over: it will not come again. */
  over(dispatchId: string): Promise<void>;
}

const SCOPE = "automations.begun";
const MAX_ATTEMPTS = 5;

export function createBegun({ keyValue, registry, logger }: BegunParts): Begun {
  const counted = new Set<string>();
  return {
    async hand(point, dispatchId, fire) {
      if (!registry.hasWaiting(point)) return fire(1);
      const before = await keyValue.get(SCOPE, dispatchId);
      const attempt = (typeof before === "number" ? before : 0) + 1;
      counted.add(dispatchId);
      if (attempt <= MAX_ATTEMPTS) {
        await keyValue.set(SCOPE, dispatchId, attempt);
        return fire(attempt);
      }
      logger.error(
        { point, dispatch: dispatchId },
        `given up: ${MAX_ATTEMPTS} times the gateway ended while it was handled`,
      );
    },
    async over(dispatchId) {
      if (counted.delete(dispatchId)) await keyValue.delete(SCOPE, dispatchId);
    },
  };
}
