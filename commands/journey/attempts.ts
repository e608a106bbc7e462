/**
 * The number of starts of handling a message, beside the last attempt: the hook that put it off, and whether the process ended in between.
 */

import { MAY_CRASH } from "../../src/domain/deliveries/letters.js";
import { rootOf } from "../../src/domain/journal.js";
import type { InboxRow } from "../../src/domain/store.js";
import type { CommandDeps } from "../deps.js";
import { clockTime, code, plain } from "../show/text.js";
import { isOfBackground } from "./background.js";
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
  return made <= 1 ? [] : [`attempt ${made}${restartText(about.startedAt, journey, row, now)}`];
}

/**
 * Whether the process ended between the counted attempts. Only the present process knows when it was started, and only where the last
 * attempt is one of its own.
 */
function restartText(startedAt: number, journey: Journey, row: InboxRow, now: number): string {
  const isHere = wasTriedSince(startedAt, journey, row);
  if (!wasCutOffBetween(row) && !(isHere && wasTriedBefore(startedAt, journey, row))) return "";
  return `; the process ended in between${isHere ? ` and was started again at ${clockTime(startedAt, now)}` : ""}`;
}

/** The end of the process cut off another attempt than the last one. */
function wasCutOffBetween(row: InboxRow): boolean {
  const isLastCutOff = row.status === "dead" && row.error?.includes(MAY_CRASH) === true;
  return cutOffsOf(row) > (isLastCutOff ? 1 : 0);
}

/** An attempt that is given up for its crashes is none: the gateway tries no more. */
function wasTriedSince(startedAt: number, { dispatches, running }: Journey, row: InboxRow): boolean {
  if (row.status === "done" && (row.settledAt ?? 0) >= startedAt) return true;
  const isOwn = (dispatchId: string) => rootOf(dispatchId) === `m${row.id}` && !isOfBackground(dispatchId);
  return (
    running.some(({ dispatchId }) => isOwn(dispatchId)) || dispatches.some(({ id, at }) => isOwn(id) && at >= startedAt)
  );
}

/** A retry by a person started a new count, and the message was handled again at once. */
function wasTriedBefore(startedAt: number, { decisions, dispatches }: Journey, row: InboxRow): boolean {
  const retried = decisions.findLast(({ id, kind }) => id === `m${row.id}` && kind === "retried");
  if (retried !== undefined) return startedAt > retried.at;
  return dispatches.some(({ id, at }) => rootOf(id) === `m${row.id}` && at < startedAt);
}
