/** The clock was set: what waits for a length of time keeps it. Messages, deliveries and pauses are moved by the parts that hold them. */
import { WAITS } from "./automation/run-rows.js";
import type { Connection } from "./connection.js";

/** Moves stored runs, tasks, pending work and SLA announcements that wait by `stepMs`. */
export function createShiftWaits({ database, write }: Connection): (stepMs: number) => Promise<void> {
  const shifts = [
    `UPDATE automation_runs SET due_at = due_at + @stepMs, turn = turn + @stepMs WHERE ${WAITS}`,
    "UPDATE tasks SET due_at = due_at + @stepMs WHERE due_at IS NOT NULL",
    "UPDATE pending SET due_at = due_at + @stepMs WHERE due_at > 0",
    "UPDATE sla_announcements SET due_at = due_at + @stepMs WHERE status IN ('pending', 'approved', 'raised')",
  ].map((sql) => database.prepare<{ stepMs: number }>(sql));
  return (stepMs) =>
    write(() => {
      for (const shift of shifts) shift.run({ stepMs });
    });
}
