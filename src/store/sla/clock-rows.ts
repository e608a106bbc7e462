/** A clock as a row: fields for searches are in columns, the rest is read back. */
import type { SlaClock } from "../../domain/alerts/sla.js";

export interface ClockRow {
  seq: number;
  due_at: number | null;
  next_at: number | null;
  data: string;
}

export const CLOCK_COLUMNS = "seq, data";

export function toClock({ data }: Pick<ClockRow, "data">): SlaClock {
  const clock: SlaClock = JSON.parse(data);
  return clock;
}

export type ClockValues = [
  id: string,
  policy: string,
  hash: string,
  type: string,
  entity: string,
  measure: string,
  cycle: string,
  state: string,
  outcome: string | null,
  dueAt: number | null,
  nextAt: number | null,
  endedAt: number | null,
  violatedAt: number | null,
  usedMs: number | null,
  targetMs: number,
  data: string,
];

export function valuesOf(clock: SlaClock): ClockValues {
  return [
    clock.id,
    clock.policyId,
    clock.policyHash,
    clock.entity.type,
    clock.entity.id,
    clock.measure,
    clock.cycle,
    clock.state,
    clock.outcome ?? null,
    clock.dueAt ?? null,
    clock.nextAt ?? null,
    clock.endedAt ?? null,
    // An ended clock keeps its breach for reports; the column of an open clock shows whether it is overdue now.
    (clock.state === "ended" ? clock.breachedAt : undefined) ?? clock.violatedAt ?? null,
    clock.usedMs ?? null,
    clock.targetMs,
    JSON.stringify(clock),
  ];
}
