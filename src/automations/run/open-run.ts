/** The row of a run: the one that its trigger stored, the one that a dispatch began before a crash, or a new one. */

import { formatAddress } from "../../domain/address.js";
import type { AutomationRun } from "../../domain/automation.js";
import type { Decision } from "../handler.js";
import { conversationOf } from "../outgoing/chat-address.js";
import { type History, historyOf } from "./history.js";
import type { RunOutcome } from "./outcome.js";
import type { RunParts, RunStart } from "./parts.js";

export interface OpenRun {
  row: AutomationRun;
  history: History;
  /** False while nothing of it is in the store. */
  isStored: boolean;
  /** It ended before a crash, and its decision is known: it does not happen twice. */
  earlier?: RunOutcome;
}

export async function openRun(start: RunStart, parts: RunParts): Promise<OpenRun> {
  const history = historyOf(start.payload, parts.mask);
  if (start.stored !== undefined) return { row: { ...start.stored }, history, isStored: true };
  if (start.attempt > 1 && !start.dryRun) {
    const row = await parts.runs.get(start.id);
    if (row !== undefined) return begunBefore(row, history);
  }
  return { row: newRow(start, history, parts.clock.now()), history, isStored: false };
}

/** A dispatch runs again with the same ids. What it decided holds; what was cut off is another attempt. */
function begunBefore(row: AutomationRun, history: History): OpenRun {
  const opened = { row, history, isStored: true };
  const decision = row.decision as Decision | undefined;
  if (decision === undefined) return opened;
  if (row.status === "succeeded") return { ...opened, earlier: { status: "succeeded", decision } };
  if (row.status === "blocked")
    return { ...opened, earlier: { status: "blocked", decision, reason: row.statusReason ?? "" } };
  return opened;
}

export type NewRow = Pick<RunStart, "definition" | "id" | "trigger" | "reason" | "dispatchId" | "cause" | "payload">;

/** Of the payload, where it is about one. */
function conversationIn(payload: unknown): Pick<AutomationRun, "conversation"> {
  if (typeof payload !== "object" || payload === null) return {};
  const at = conversationOf(payload as Record<string, unknown>);
  return at === undefined ? {} : { conversation: formatAddress(at) };
}

/** What is stored before anything is done. */
export function newRow(start: NewRow, history: Pick<History, "payload" | "payloadHash">, now: number): AutomationRun {
  const { definition, id, trigger, reason, dispatchId, cause } = start;
  return {
    id,
    hookId: definition.id,
    trigger,
    reason,
    event: definition.point,
    ...(cause === undefined ? {} : { cause }),
    dispatchId,
    ...(definition.phase === undefined ? {} : { phase: definition.phase }),
    ...conversationIn(start.payload),
    status: "running",
    payload: history.payload,
    payloadHash: history.payloadHash,
    isRepeatable: false,
    attempt: 0,
    attempts: [],
    createdAt: now,
    dueAt: now,
  };
}
