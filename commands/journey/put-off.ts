/** Claims that put a message off (`deferMs`), and claims that block it: they are no answers, and are not shown as such. */
import type { DispatchRecord, RunRecord } from "../../src/domain/journal.js";
import { code, plain } from "../show/text.js";

export interface PutOff {
  hookId: string;
  reason: string | undefined;
  /** Markdown: `` `later` (not yet) ``. */
  by: string;
}

/** Oldest first. */
export function putOffs(dispatches: readonly DispatchRecord[]): PutOff[] {
  return dispatches.flatMap(({ point, runs }) =>
    point === "inbound_claim"
      ? runs.filter(isPutOff).map(({ hookId, reason }) => ({
          hookId,
          reason,
          by: `${code(hookId)}${reason ? ` (${plain(reason)})` : ""}`,
        }))
      : [],
  );
}

export function isPutOff({ outcome, diff }: RunRecord): boolean {
  return outcome === "claimed" && typeof diff === "object" && diff !== null && "deferMs" in diff;
}

/** A configured hook decided `block`. A plugin cannot: it takes a message, with a reason or without. */
export function isBlock(run: RunRecord): boolean {
  return run.outcome === "blocked" || (run.pluginId === undefined && Boolean(run.reason) && isSilentClaim(run));
}

/** The hook took the message and answered nothing. */
export function isSilentClaim({ outcome, diff }: RunRecord): boolean {
  if (outcome !== "claimed" || typeof diff !== "object" || diff === null) return false;
  return !("reply" in diff && diff.reply) && !("routeTo" in diff && diff.routeTo) && !("deferMs" in diff);
}
