/** How often handling a message was started, beside the last attempt: what put it off, and whether the process ended in between. */
import { rootOf } from "../../src/domain/journal.js";
import type { InboxRow } from "../../src/domain/store.js";
import type { CommandDeps } from "../deps.js";
import { clockTime, code, plain } from "../text.js";
import { cutOffsOf } from "./cut-off.js";
import type { Journey } from "./find.js";
import { putOffs } from "./put-off.js";

export function putOffLines({ dispatches }: Journey, row: InboxRow): string[] {
  const all = putOffs(dispatches);
  if (all.length === 0 || (row.status === "deferred" && row.error === undefined && row.deferrals <= 1)) return [];
  const times = row.deferrals === 1 ? "once" : `${row.deferrals} times`;
  const hooks = new Map(all.map(({ hookId, reason }) => [hookId, reason]));
  const by = [...hooks].map(([hookId, reason]) => `${code(hookId)}${reason ? `: ${plain(reason)}` : ""}`).join("; ");
  return [`it was put off ${times}, by ${by}`];
}

/** Attempts that failed or were cut off; only the last one is shown. */
export function attemptLines({ about }: CommandDeps, journey: Journey, row: InboxRow, now: number): string[] {
  const made = row.attempts - row.deferrals;
  if (made <= 1) return [];
  const isRestarted = wasRestartedBetween(about.startedAt, journey, row, now);
  return [
    `attempt ${made}${isRestarted ? `; the process ended in between and was started again at ${clockTime(about.startedAt, now)}` : ""}`,
  ];
}

/**
 * Whether one of the attempts that are counted came before the start of this process, and the last one after it. A person who had it
 * tried again began a new count.
 */
function wasRestartedBetween(startedAt: number, journey: Journey, row: InboxRow, now: number): boolean {
  const retried = journey.decisions.findLast(({ id, kind }) => id === `m${row.id}` && kind === "retried");
  if (startedAt >= (row.settledAt ?? now)) return false;
  // It was handled again at once.
  if (retried !== undefined) return startedAt > retried.at;
  if (startedAt <= row.receivedAt) return false;
  // An attempt that the end of the process cut off is recorded nowhere.
  return cutOffsOf(row) > 0 || journey.dispatches.some(({ id, at }) => rootOf(id) === `m${row.id}` && at < startedAt);
}
