/**
 * Whether a hook's own writing starts it again and again. That a file changes while its hook runs is no sign by itself: people write,
 * too. That the same file does so many times in a row is. No change is lost for it: the next ones wait, longer each time.
 */
import type { AutomationRun, AutomationRunStore } from "../../../domain/automation.js";
import { backoffMs } from "../../../lib/backoff.js";

const MAX_ROUNDS = 20;
const PAUSE = { firstMs: 10_000, maxMs: 600_000 };
const RUNS_LOOKED_AT = 20;
/** Files with ever new names must not fill the memory. */
const MAX_REMEMBERED = 10_000;
/** The clock of file systems lags behind. */
const LAG_MS = 20;

export interface OwnOutput {
  /** How long what is about to be fired waits; 0 = it does not. When it was written is not known of what is gone. */
  pauseMs(batch: string, writtenAt: readonly (number | undefined)[], now: number): Promise<number>;
}

export function createOwnOutput(hookId: string, runs: Pick<AutomationRunStore, "list">): OwnOutput {
  const rounds = new Map<string, number>();
  return {
    async pauseMs(batch, writtenAt, now) {
      const before = rounds.get(batch);
      // What fires for the first time cannot be its own output yet; nobody's history is read for it.
      const isOwn = before !== undefined && (await isWithinRuns(writtenAt, now));
      const count = isOwn ? before + 1 : 0;
      if (rounds.size >= MAX_REMEMBERED) rounds.clear();
      rounds.set(batch, count);
      return count > MAX_ROUNDS ? backoffMs(PAUSE, count - MAX_ROUNDS) : 0;
    },
  };

  async function isWithinRuns(writtenAt: readonly (number | undefined)[], now: number): Promise<boolean> {
    const recent = await runs.list({ hookId, limit: RUNS_LOOKED_AT });
    return writtenAt.every((at) => at !== undefined && recent.some((run) => isDuring(run, at, now)));
  }
}

function isDuring({ startedAt, endedAt }: AutomationRun, at: number, now: number): boolean {
  return startedAt !== undefined && at >= startedAt - LAG_MS && at <= (endedAt ?? now);
}
