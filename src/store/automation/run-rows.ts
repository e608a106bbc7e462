/** A run of a configured hook as a row: columns for fields that queries use, JSON for fields that are only read back. */
import type { AutomationRun, AutomationRunStatus } from "../../domain/automation.js";

export interface RunRecord {
  seq: number;
  id: string;
  hook_id: string;
  status: AutomationRunStatus;
  attempt: number;
  repeatable: number;
  created_at: number;
  due_at: number;
  started_at: number | null;
  ended_at: number | null;
  lease_owner: string | null;
  lease_until: number | null;
  line: string | null;
  data: string;
  pending: string | null;
}

type Data = Pick<
  AutomationRun,
  | "trigger"
  | "reason"
  | "event"
  | "cause"
  | "dispatchId"
  | "phase"
  | "conversation"
  | "messageId"
  | "statusReason"
  | "payload"
  | "decision"
  | "attempts"
>;

export const RUN_COLUMNS =
  "seq, id, hook_id, status, attempt, repeatable, created_at, due_at, started_at, ended_at, lease_owner, lease_until, line, data, pending";

/** The words of the partial index in schema.sql. */
export const WAITS = "status IN ('queued', 'backgrounded')";
export const IS_UNFINISHED_RUN = "status IN ('queued', 'backgrounded', 'running')";

/** The values that an update may change, in the order of the statement. */
export type RunValues = [
  status: AutomationRunStatus,
  attempt: number,
  repeatable: number,
  dueAt: number,
  turn: number | null,
  startedAt: number | null,
  endedAt: number | null,
  leaseOwner: string | null,
  leaseUntil: number | null,
  data: string,
  pending: string | null,
];

/** `turn`: null while an earlier run of its line is next. */
export function valuesOf(run: AutomationRun, turn: number | null = run.dueAt): RunValues {
  return [
    run.status,
    run.attempt,
    run.isRepeatable ? 1 : 0,
    run.dueAt,
    turn,
    run.startedAt ?? null,
    run.endedAt ?? null,
    run.leaseOwner ?? null,
    run.leaseUntil ?? null,
    JSON.stringify(dataOf(run)),
    run.pendingPayload === undefined ? null : JSON.stringify(run.pendingPayload),
  ];
}

/** JSON leaves out undefined fields. */
function dataOf(run: AutomationRun): { [K in keyof Data]: Data[K] | undefined } {
  const { trigger, reason, event, cause, dispatchId, phase, conversation, messageId } = run;
  const { statusReason, payload, decision, attempts } = run;
  return {
    ...{ trigger, reason, event, cause, dispatchId, phase, conversation, messageId },
    ...{ statusReason, payload, decision, attempts },
  };
}

/** A row that cannot be read stops nothing: only its columns are left, and it cannot be run. */
export function runOf(row: RunRecord): AutomationRun {
  try {
    const pending = row.pending === null ? {} : { pendingPayload: JSON.parse(row.pending) as unknown };
    return { ...(JSON.parse(row.data) as Data), ...columnsOf(row), ...pending };
  } catch {
    return { ...UNREADABLE, ...columnsOf(row), isRepeatable: false };
  }
}

const UNREADABLE: Data = {
  trigger: "on",
  reason: "its row cannot be read",
  statusReason: "its row cannot be read",
  payload: null,
  attempts: [],
};

function columnsOf(row: RunRecord) {
  return {
    id: row.id,
    hookId: row.hook_id,
    status: row.status,
    attempt: row.attempt,
    isRepeatable: row.repeatable === 1,
    createdAt: row.created_at,
    dueAt: row.due_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    leaseOwner: row.lease_owner ?? undefined,
    leaseUntil: row.lease_until ?? undefined,
  };
}
