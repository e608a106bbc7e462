/** The daily check, and that of suspected damage, of the whole database, in a thread of its own. */

import { HookgateError } from "../lib/errors.js";
import { DAY_MS } from "../lib/time/duration.js";
import { startThread } from "../lib/worker-file.js";
import type { Damage } from "./database-file/damage.js";

export interface VerifyFacts {
  file: string;
}
export type Verdict = { isSound: true } | { isSound: false; code: string; message: string; hint: string | undefined };

/**
 * Call it often: it does something once a day, and when damage is suspected. `checkedAt`: when the start checked the file, if it did.
 * Rejects when the check cannot run.
 */
export function createVerify(
  file: string,
  damage: Damage,
  checkedAt: number | undefined,
): (now: number) => Promise<void> {
  let last = checkedAt;
  let isRunning = false;
  return async (now) => {
    // A clock that was set back does not stop the checks.
    if (isRunning) return;
    if (!damage.isSuspected() && last !== undefined && Math.abs(now - last) < DAY_MS) return;
    last = now;
    isRunning = true;
    const facts: VerifyFacts = { file };
    const thread = startThread("verify", new URL("./verify-worker.ts", import.meta.url), "verify-worker.js", facts);
    thread.unref();
    const verdict = await new Promise<Verdict>((resolve, reject) => {
      thread.once("message", resolve);
      thread.once("error", reject);
      thread.once("exit", () => reject(new Error("the thread ended without a result")));
    }).finally(() => {
      isRunning = false;
    });
    damage.decide(verdict.isSound ? undefined : new HookgateError(verdict));
  };
}
