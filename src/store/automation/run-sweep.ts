/** Deletes old runs, hook by hook and a little at a time: a hook that fires every second does not push out another's history. */
import type { AutomationRunStore } from "../../domain/automation.js";
import type { Connection } from "../connection.js";
import { IS_UNFINISHED_RUN } from "./run-rows.js";

/** Rows in one transaction. */
const CHUNK = 500;
const ENDED = `NOT (${IS_UNFINISHED_RUN})`;

export function createRunSweep({ database, read, write }: Connection): AutomationRunStore["sweep"] {
  // Steps from one hook to the next over the index, instead of reading every row.
  const hookAfter = database.prepare<[string], { hookId: string | null }>(
    "SELECT min(hook_id) AS hookId FROM automation_runs WHERE hook_id > ?",
  );
  const nth = database.prepare<[string, number], { seq: number }>(
    "SELECT seq FROM automation_runs WHERE hook_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
  );
  const remove = database.prepare<[string, number, number, number]>(
    `DELETE FROM automation_runs WHERE seq IN (
       SELECT seq FROM automation_runs WHERE hook_id = ? AND ${ENDED} AND (seq <= ? OR created_at < ?) ORDER BY seq LIMIT ?)`,
  );
  return async (now, keep) => {
    let removed = 0;
    for (let hookId = ""; ; ) {
      const next = await read(() => hookAfter.get(hookId)?.hookId ?? undefined);
      if (next === undefined) return removed;
      hookId = next;
      const { maxAgeMs, maxRuns } = keep(hookId);
      const tooMany = await read(() => nth.get(hookId, maxRuns)?.seq ?? 0);
      for (let some = CHUNK; some === CHUNK; removed += some)
        some = await write(() => remove.run(hookId, tooMany, now - maxAgeMs, CHUNK).changes);
    }
  };
}
