/**
 * The clock was set: work that waits for a length of time keeps that length. The parts that hold messages, deliveries and pauses move
 * those.
 */
import type { Clock } from "../lib/time/clock.js";
import { WAITS } from "./automation/run-rows.js";
import type { Connection } from "./connection.js";

/**
 * Moves stored runs, tasks, pending work and SLA announcements that wait by `stepMs`. The times of other runs are moved where they are
 * later than now: a cooldown and an hourly rate count from them, also after a start.
 */
export function createShiftWaits({ database, write }: Connection, clock: Clock): (stepMs: number) => Promise<void> {
  const shifts = [
    `UPDATE automation_runs SET due_at = due_at + @stepMs, turn = turn + @stepMs, started_at = started_at + @stepMs WHERE ${WAITS}`,
    "UPDATE automation_runs SET started_at = started_at + @stepMs WHERE status = 'running' AND started_at > @now",
    `UPDATE automation_runs SET created_at = created_at + @stepMs, started_at = started_at + @stepMs, ended_at = ended_at + @stepMs
     WHERE ended_at > @now AND ended_at IS NOT NULL AND started_at IS NOT NULL`,
    "UPDATE tasks SET due_at = due_at + @stepMs WHERE due_at IS NOT NULL",
    "UPDATE pending SET due_at = due_at + @stepMs WHERE due_at > 0",
    "UPDATE sla_announcements SET due_at = due_at + @stepMs WHERE status IN ('pending', 'approved', 'raised')",
  ].map((sql) => database.prepare<{ stepMs: number; now: number }>(sql));
  return (stepMs) =>
    write(() => {
      const now = clock.now();
      for (const shift of shifts) shift.run({ stepMs, now });
    });
}
