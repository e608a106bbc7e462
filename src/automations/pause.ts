/** Everything is paused until a person resumes it; a restart does not. */
import type { KeyValueStore } from "../domain/store.js";
import type { Clock } from "../lib/time/clock.js";

export interface Pause {
  readonly paused: { by: string; at: number } | undefined;
  /** Reads it from the store, at the start. */
  learn(): Promise<void>;
  set(by: string): Promise<void>;
  clear(): Promise<void>;
}

const SCOPE = "automations";
const KEY = "paused";

export function createPause(keyValue: KeyValueStore, clock: Clock): Pause {
  let paused: { by: string; at: number } | undefined;
  return {
    get paused() {
      return paused;
    },
    async learn() {
      const stored = await keyValue.get(SCOPE, KEY);
      if (typeof stored !== "object" || stored === null || !("by" in stored) || !("at" in stored)) return;
      paused = { by: String(stored.by), at: Number(stored.at) };
    },
    async set(by) {
      paused = { by, at: clock.now() };
      await keyValue.set(SCOPE, KEY, paused);
    },
    async clear() {
      await keyValue.delete(SCOPE, KEY);
      paused = undefined;
    },
  };
}
