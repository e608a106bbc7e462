/** Writes down how a run ended, again and again when the disk is full: the run is neither forgotten nor done again. */
import { errorMessage, HookgateError } from "../errors.js";
import type { Logger } from "../logger.js";
import { backoffMs } from "../time/backoff.js";
import { type Clock, wait } from "../time/clock.js";

export interface WriteAgain {
  /** Ends the pause: one last try follows. */
  stopping: AbortSignal;
  clock: Clock;
  logger: Logger;
}

const PAUSES = { firstMs: 500, maxMs: 30_000 };
/** For failures that another try may not help. A failure that passes, such as a full disk, is waited for until the stop. */
const MAX_TRIES = 20;

/** Writes how a run ended. `run`: names it in the log. */
export async function untilWritten<T>(
  run: Record<string, string>,
  write: () => Promise<T>,
  { stopping, clock, logger }: WriteAgain,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const isLast = stopping.aborted;
    try {
      return await write();
    } catch (error) {
      const mayPass = error instanceof HookgateError && error.retryable;
      if (isLast || (attempt >= MAX_TRIES && !mayPass)) throw error;
      logger.warn({ ...run, error: errorMessage(error) }, "the end of a run could not be stored; storing it again");
    }
    await wait(clock, backoffMs(PAUSES, attempt), stopping).catch(() => {
      // The stop: the last try.
    });
  }
}
