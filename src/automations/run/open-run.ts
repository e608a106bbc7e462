/** The row of a run: the one that its trigger stored, the one that a dispatch started before a crash, or a new one. */

import type { AutomationRun } from "../../domain/automation.js";
import { formatAddress } from "../../domain/chat/address.js";
import { isHandId, namedBy } from "../../domain/journal.js";
import { parseSkipReason } from "../../domain/skip-reason.js";
import type { HookPoint } from "../../hooks/point.js";
import type { Definition } from "../definition/definition.js";
import type { Decision } from "../handler.js";
import { conversationOf } from "../outgoing/chat-address.js";
import type { RunDeps, RunStart } from "./deps.js";
import { type History, historyOf } from "./history.js";
import type { RunOutcome } from "./outcome.js";

export interface OpenRun {
  row: AutomationRun;
  history: History;
  /** False while nothing of it is in the store. */
  isStored: boolean;
  /** The run ended before a crash, and its decision is known: the run does not happen twice. */
  earlier?: RunOutcome;
}

export async function openRun(start: RunStart, deps: RunDeps): Promise<OpenRun> {
  const history = historyOf(start.point.name, start.payload, deps.mask);
  if (start.stored !== undefined) return { row: { ...start.stored }, history, isStored: true };
  if (start.attempt > 1 && !start.dryRun) {
    const row = await deps.runs.get(start.id);
    if (row !== undefined) return startedBefore(row, history, start);
  }
  return { row: newRow(start, history, deps.clock.now()), history, isStored: false };
}

/** Whether a run may happen twice after a crash: a caller waits for its result at a point that decides, or the hook must not fail. */
export const mayRunTwice = (
  { model }: Pick<HookPoint, "model">,
  { phase, onFailure }: Pick<Definition, "phase" | "onFailure">,
): boolean => (model !== "void" && phase !== "after") || onFailure === "closed";

/**
 * A dispatch runs again with the same ids. Its decision stays. A run that was cut off gets another attempt after a stop, and after a crash
 * where it may happen twice.
 */
function startedBefore(row: AutomationRun, history: History, { point, definition }: RunStart): OpenRun {
  const opened = { row, history, isStored: true };
  const decision = row.decision as Decision | undefined;
  if (decision !== undefined && row.status === "succeeded")
    return { ...opened, earlier: { status: "succeeded", decision } };
  if (decision !== undefined && row.status === "blocked")
    return { ...opened, earlier: { status: "blocked", decision, reason: row.statusReason ?? "" } };
  if (decision !== undefined && row.status === "skipped")
    return { ...opened, earlier: { ...skippedBefore(row.statusReason), decision } };
  return mayRunTwice(point, definition) || wasStopped(row) ? opened : { ...opened, earlier: endedBefore(row) };
}

/**
 * The run was cut off, and its dispatch runs it again when it fires again. Background runs and runs that a person started have no such
 * dispatch.
 */
export function runsAgain(
  row: Pick<AutomationRun, "status" | "attempts" | "dispatchId">,
  point: HookPoint,
  definition: Definition,
): boolean {
  const { status, dispatchId } = row;
  if (status !== "interrupted" || dispatchId === undefined || isHandId(dispatchId)) return false;
  return definition.execution !== "background" && (mayRunTwice(point, definition) || wasStopped(row));
}

/** A crash leaves an attempt without an end. */
function wasStopped({ status, attempts }: Pick<AutomationRun, "status" | "attempts">): boolean {
  return status === "interrupted" && attempts.at(-1)?.endedAt !== undefined;
}

function endedBefore({ status, statusReason = "" }: AutomationRun): RunOutcome {
  if (status === "failed" || status === "timed_out") return { status, error: statusReason, isRetryable: false };
  if (status === "skipped") return skippedBefore(statusReason);
  return { status: "interrupted", reason: statusReason || "the gateway ended while it ran, and it may not run twice" };
}

function skippedBefore(statusReason: string | undefined) {
  return { status: "skipped" as const, ...parseSkipReason(statusReason) };
}

export type NewRow = Pick<RunStart, "definition" | "id" | "trigger" | "reason" | "dispatchId" | "cause" | "payload">;

/**
 * The conversation that a payload of our own points names. Everyone sees it, so payloads from outside do not count: they may hold any
 * text.
 */
function conversationIn(point: string, payload: unknown): Pick<AutomationRun, "conversation"> {
  if (namedBy(point) === "others") return {};
  if (typeof payload !== "object" || payload === null) return {};
  const at = conversationOf(payload as Record<string, unknown>);
  return at === undefined ? {} : { conversation: formatAddress(at) };
}

/** The row that is stored before anything is done. */
export function newRow(start: NewRow, { payload }: Pick<History, "payload">, now: number): AutomationRun {
  const { definition, id, trigger, reason, dispatchId, cause } = start;
  return {
    id,
    hookId: definition.id,
    trigger,
    reason,
    event: definition.point,
    cause,
    dispatchId,
    phase: definition.phase,
    ...conversationIn(definition.point, start.payload),
    status: "running",
    payload,
    isRepeatable: false,
    attempt: 0,
    attempts: [],
    createdAt: now,
    dueAt: now,
  };
}
