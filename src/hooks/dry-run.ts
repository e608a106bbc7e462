/**
 * Dry runs: whatever a handler calls, however deep, can ask `inDryRun()` and must then send and write nothing.
 * The tracking slows every promise of the process, so it is on only from a dry run until a while after its handlers ended.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../lib/clock.js";

const tracking = new AsyncLocalStorage<true>();
let underWay = 0;

/** True inside a handler that runs dry, and in everything that it started. */
export function inDryRun(): boolean {
  return tracking.getStore() === true;
}

/** What a handler left behind may still be at work when the handler has ended. */
const LINGER_MS = 60_000;

/** Calls `fire` with `inDryRun()` true in it and in what it starts. */
export async function runDry<T>(clock: Clock, fire: () => Promise<T>): Promise<T> {
  underWay++;
  try {
    return await tracking.run(true, fire);
  } finally {
    clock.after(LINGER_MS, () => {
      if (--underWay === 0) tracking.disable();
    });
  }
}
