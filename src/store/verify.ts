/** The daily check of the whole database, in a thread of its own. */
import { HookgateError } from "../lib/errors.js";
import { startThread } from "../lib/worker-file.js";
import type { Damage } from "./damage.js";

export interface VerifyFacts {
  file: string;
}
export type Verdict = { isSound: true } | { isSound: false; code: string; message: string; hint: string | undefined };

const DAY_MS = 86_400_000;

/** Call it often: it does something once a day. `checkedAt`: when the start checked the file, if it did. Rejects when the check cannot run. */
export function createVerify(
  file: string,
  damage: Damage,
  checkedAt: number | undefined,
): (now: number) => Promise<void> {
  let last = checkedAt;
  return async (now) => {
    // A clock that was set back does not stop the checks.
    if (last !== undefined && Math.abs(now - last) < DAY_MS) return;
    last = now;
    const facts: VerifyFacts = { file };
    const thread = startThread("verify", new URL("./verify-worker.ts", import.meta.url), "verify-worker.js", facts);
    thread.unref();
    const verdict = await new Promise<Verdict>((resolve, reject) => {
      thread.once("message", resolve);
      thread.once("error", reject);
      thread.once("exit", () => reject(new Error("the thread ended without a result")));
    });
    if (!verdict.isSound) damage.note(new HookgateError(verdict));
  };
}
