/** Bounds work that others run for us: a command, a plugin's route. Its result is dropped when it comes too late. */

import { HookgateError } from "../lib/errors.js";
import type { Clock } from "../lib/time/clock.js";
import { formatDuration } from "../lib/time/duration.js";

export const TOOK_TOO_LONG = "TOOK_TOO_LONG";

/** Rejects with TOOK_TOO_LONG after `limitMs`, aborting the signal that `run` was given. */
export async function withDeadline<T>(
  clock: Clock,
  limitMs: number,
  what: string,
  run: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  const abort = new AbortController();
  let timer: { cancel(): void } | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = clock.after(limitMs, () => {
      const error = new HookgateError({
        code: TOOK_TOO_LONG,
        message: `${what} took longer than ${formatDuration(limitMs)} (\`gateway.command_timeout\`)`,
        retryable: true,
      });
      reject(error);
      abort.abort(error);
    });
  });
  try {
    return await Promise.race([Promise.resolve(run(abort.signal)), late]);
  } finally {
    timer?.cancel();
  }
}
