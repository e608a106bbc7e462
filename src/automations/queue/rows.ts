/** Converts a background run of the kernel into its row, and back. */
import type { AutomationRun } from "../../domain/automation.js";
import { isHandId, namedBy } from "../../domain/journal.js";
import type { BackgroundRun } from "../../hooks/background.js";
import { redact } from "../../lib/text/redact.js";
import type { Definition } from "../definition/definition.js";
import { stopsOf } from "./settle.js";

export function rowOf(run: BackgroundRun, definition: Definition | undefined, now: number): AutomationRun {
  const { id, hookId, hook, phase, payload, dispatchId, cause, conversation, messageId } = run;
  const isManual = definition !== undefined && isHandId(dispatchId);
  return {
    id,
    hookId,
    trigger: isManual ? "manual" : (definition?.trigger.kind ?? "on"),
    reason: isManual ? "fired by command" : `${hook}${phase === undefined ? "" : ` (${phase})`} fired`,
    event: hook,
    cause,
    dispatchId,
    phase,
    conversation,
    messageId,
    status: "backgrounded",
    payload: redact(payload, namedBy(hook)),
    pendingPayload: payload,
    isRepeatable: definition === undefined ? run.idempotent === true : definition.retry !== undefined,
    attempt: 0,
    attempts: [],
    createdAt: now,
    dueAt: now,
  };
}

export function backgroundOf(row: AutomationRun): BackgroundRun {
  const {
    id,
    hookId,
    event,
    phase,
    pendingPayload,
    dispatchId,
    cause,
    conversation,
    messageId,
    isRepeatable,
    createdAt,
  } = row;
  return {
    id,
    hookId,
    hook: event ?? "",
    phase,
    payload: pendingPayload,
    dispatchId: dispatchId ?? id,
    cause,
    conversation,
    messageId,
    idempotent: isRepeatable || undefined,
    stops: stopsOf(row),
    recordedAt: createdAt,
  };
}
