/** Rows of runs that no dispatch caused: those that time starts, and those that a person fires. */
import type { AutomationRun } from "../domain/automation.js";
import type { Cause } from "../domain/journal.js";
import { newId } from "../lib/id.js";
import { isRecord } from "../lib/record.js";
import type { Definition } from "./definition/definition.js";
import { historyOf } from "./run/history.js";
import { newRow } from "./run/open-run.js";
import type { DueStart } from "./triggers/trigger.js";

/** `lastRunAt`: when it started before. */
export function draftDue(
  definition: Definition,
  { kind, reason, dueAt }: DueStart,
  lastRunAt: number | undefined,
  now: number,
): AutomationRun {
  const payload = {
    hookId: definition.id,
    trigger: kind,
    reason,
    due: new Date(dueAt).toISOString(),
    lastRun: lastRunAt === undefined ? undefined : new Date(lastRunAt).toISOString(),
  };
  return draft(definition, { trigger: kind, reason, payload }, now);
}

/** When a run that time starts was due. */
export const dueOf = ({ payload }: AutomationRun): unknown =>
  typeof payload === "object" && payload !== null && "due" in payload ? payload.due : undefined;

export interface ManualStart {
  /** `fired by Ann`. */
  reason: string;
  payload: unknown;
  cause?: Cause;
  /** Made up when absent. */
  runId?: string;
}

export function draftManual(definition: Definition, start: ManualStart, now: number): AutomationRun {
  return draft(definition, { ...start, trigger: "manual" }, now);
}

/** The payload of a hook that no payload starts, when a person fires the hook. */
export function manualPayload(definition: Definition, reason: string, input: unknown, now: number): unknown {
  return {
    hookId: definition.id,
    trigger: "manual",
    reason,
    due: new Date(now).toISOString(),
    input: isRecord(input) ? input : undefined,
  };
}

function draft(
  definition: Definition,
  { trigger, reason, payload, cause, runId }: ManualStart & { trigger: AutomationRun["trigger"] },
  now: number,
): AutomationRun {
  const id = runId ?? newId("r", now);
  // Only for the shown payload: the secrets of the configuration are no part of a payload that starts a run.
  const history = historyOf(definition.point, payload, (text) => text);
  return {
    ...newRow({ definition, id, trigger, reason, dispatchId: id, cause, payload }, history, now),
    status: "queued",
    pendingPayload: payload,
    isRepeatable: definition.retry !== undefined,
  };
}
