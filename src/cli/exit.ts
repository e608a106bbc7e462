/** Exit codes, and the one place where an error becomes one. */
import { HookgateError } from "../lib/errors.js";

export const EXIT = { done: 0, failed: 1, usage: 2, refused: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const USAGE = new Set(["BAD_USAGE", "CONFIG_INVALID", "HOOK_UNKNOWN"]);
/** Not you, or not now. */
const REFUSED = new Set(["UNAUTHORIZED", "FORBIDDEN", "HOOK_RUNNING", "HELD"]);

export function exitCodeOf(error: unknown): ExitCode {
  if (!(error instanceof HookgateError)) return EXIT.failed;
  if (USAGE.has(error.code)) return EXIT.usage;
  return REFUSED.has(error.code) ? EXIT.refused : EXIT.failed;
}
