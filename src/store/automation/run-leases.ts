/** Leases of runs: a run is held by one owner until its lease ends, and every change of that is one transaction. */
import type { AutomationRunStore, LeftRuns } from "../../domain/automation.js";
import type { Connection } from "../connection.js";
import { RUN_COLUMNS, type RunRecord, runOf, WAITS } from "./run-rows.js";

/** The condition takes the ids as one JSON list. */
const HAS_ROOM = "hook_id NOT IN (SELECT value FROM json_each(?))";
const IN_FORCE = "(created_at < ? OR hook_id NOT IN (SELECT value FROM json_each(?)))";
/** At the same moment, a run that came then goes before the next run of a line that was served then. */
const IN_TURN = "turn, due_at DESC, seq";
const NONE: LeftRuns = { busy: [], absent: [], unread: [], keptSince: 0 };

export function createRunLeases({
  database,
  read,
  write,
}: Connection): Pick<AutomationRunStore, "take" | "takeOne" | "renew" | "expireOthers" | "nextDue" | "unfinished"> {
  const expired = database.prepare<[number, number, string], RunRecord>(
    `SELECT ${RUN_COLUMNS} FROM automation_runs WHERE status = 'running' AND lease_until <= ? AND ${IN_FORCE} ORDER BY lease_until LIMIT 1`,
  );
  const due = database.prepare<[number, string, number, string], RunRecord>(
    `SELECT ${RUN_COLUMNS} FROM automation_runs WHERE ${WAITS} AND turn <= ? AND ${HAS_ROOM} AND ${IN_FORCE} ORDER BY ${IN_TURN} LIMIT 1`,
  );
  const one = database.prepare<[string, number], RunRecord>(
    `SELECT ${RUN_COLUMNS} FROM automation_runs WHERE id = ? AND ${WAITS} AND due_at <= ?`,
  );
  const holdRow = database.prepare<[number, string, number, number], RunRecord>(
    `UPDATE automation_runs SET status = 'running', attempt = attempt + ?, lease_owner = ?, lease_until = ? WHERE seq = ?
     RETURNING ${RUN_COLUMNS}`,
  );
  // A line has one run at a time that is due and next: a run that had to be tried again goes back among the others.
  const rejoin = database.prepare<[string, string, number]>(
    `UPDATE automation_runs SET turn = NULL WHERE hook_id = ? AND line = ? AND ${WAITS} AND turn <= ?`,
  );
  const moveUp = database.prepare<[number, string, string]>(
    `UPDATE automation_runs SET turn = max(?, due_at) WHERE seq =
       (SELECT seq FROM automation_runs WHERE hook_id = ? AND line = ? AND ${WAITS} AND turn IS NULL ORDER BY due_at, seq LIMIT 1)`,
  );
  /** The next run of its line waits from now on: the next runs of other lines that wait for longer come first. */
  function hold({ seq, hook_id, line }: RunRecord, attempts: 0 | 1, owner: string, now: number, leaseMs: number) {
    const held = holdRow.get(attempts, owner, now + leaseMs, seq);
    if (line !== null) {
      rejoin.run(hook_id, line, now);
      moveUp.run(now, hook_id, line);
    }
    return held;
  }
  const renew = database.prepare<[number, string, string]>(
    "UPDATE automation_runs SET lease_until = ? WHERE id = ? AND status = 'running' AND lease_owner = ?",
  );
  const expireOthers = database.prepare<[number, string]>(
    "UPDATE automation_runs SET lease_until = ? WHERE status = 'running' AND lease_owner IS NOT ?",
  );
  const firstExpiry = database.prepare<[number, string], { at: number | null }>(
    `SELECT min(lease_until) AS at FROM automation_runs WHERE status = 'running' AND ${IN_FORCE}`,
  );
  const firstDue = database.prepare<[string, number, string], { at: number }>(
    `SELECT turn AS at FROM automation_runs WHERE ${WAITS} AND turn IS NOT NULL AND ${HAS_ROOM} AND ${IN_FORCE} ORDER BY ${IN_TURN} LIMIT 1`,
  );
  const unfinished = database.prepare<[], { hookId: string }>(
    `SELECT hook_id AS hookId FROM automation_runs WHERE ${WAITS} UNION SELECT hook_id FROM automation_runs WHERE status = 'running'`,
  );
  return {
    take: (owner, now, leaseMs, { busy, absent, unread, keptSince, isExpiredOnly } = NONE) =>
      write(() => {
        const stale = expired.get(now, keptSince, JSON.stringify(unread));
        const found =
          stale ?? (isExpiredOnly ? undefined : due.get(now, JSON.stringify(busy), keptSince, JSON.stringify(absent)));
        const held = found && hold(found, stale ? 0 : 1, owner, now, leaseMs);
        return held && { run: runOf(held), isTakenOver: stale !== undefined };
      }),
    takeOne: (id, owner, now, leaseMs) =>
      write(() => {
        const found = one.get(id, now);
        const held = found && hold(found, 1, owner, now, leaseMs);
        return held && { run: runOf(held), isTakenOver: false };
      }),
    renew: (id, owner, until) => write(() => renew.run(until, id, owner).changes === 1),
    expireOthers: (owner, now) => write(() => expireOthers.run(now, owner).changes),
    unfinished: () => read(() => unfinished.all().map(({ hookId }) => hookId)),
    nextDue: ({ busy, absent, unread, keptSince, isExpiredOnly } = NONE) =>
      read(() => {
        const times = [
          firstExpiry.get(keptSince, JSON.stringify(unread))?.at,
          isExpiredOnly ? undefined : firstDue.get(JSON.stringify(busy), keptSince, JSON.stringify(absent))?.at,
        ];
        const known = times.filter((at) => typeof at === "number");
        return known.length === 0 ? undefined : Math.min(...known);
      }),
  };
}
