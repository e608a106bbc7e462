/** Hooks whose breaker is open: they failed again and again, and are not run for a while. */
import type { OpenBreaker } from "../../src/automations/gates/breaker.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";
import { clockTime, code } from "../show/text.js";

export function stoppedText({ hookId, failures, openUntil }: OpenBreaker, now: number): string {
  return openUntil > now
    ? `${code(hookId)} is not run: it failed ${failures} times in a row. One run tries it after ${clockTime(openUntil, now)} UTC (in ${formatDuration(openUntil - now)}); ${code(`/hooks enable ${hookId}`)} runs it at once`
    : `${code(hookId)} failed ${failures} times in a row. Its pause has ended: its next run tries it`;
}

/** Until when its breaker refuses it, where that is after its next time (ms since the epoch). */
export function stoppedUntil({ automations }: CommandDeps, next: { hookId: string; at: number }): number | undefined {
  const open = automations?.breakers().find(({ hookId }) => hookId === next.hookId);
  return open !== undefined && open.openUntil > next.at ? open.openUntil : undefined;
}
