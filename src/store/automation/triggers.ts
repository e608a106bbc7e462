/** When timed triggers fired last and fire next. The next time moves together with the run that it starts, or not at all. */
import type { TriggerState, TriggerStore } from "../../domain/automation.js";
import type { Connection } from "../connection.js";
import type { InsertRun } from "./runs.js";

export interface TriggerRow {
  hook_id: string;
  schedule: string;
  last_at: number | null;
  next_at: number | null;
}

export function createTriggers({ database, read, write }: Connection, insertRun: InsertRun): TriggerStore {
  const list = database.prepare<[], TriggerRow>("SELECT * FROM automation_triggers ORDER BY hook_id");
  const get = database.prepare<[string], TriggerRow>("SELECT * FROM automation_triggers WHERE hook_id = ?");
  const set = database.prepare<[string, string, number | null, number | null]>(
    "INSERT OR REPLACE INTO automation_triggers (hook_id, schedule, last_at, next_at) VALUES (?, ?, ?, ?)",
  );
  const forget = database.prepare<[string]>("DELETE FROM automation_triggers WHERE hook_id = ?");
  const put = ({ hookId, schedule, lastAt, nextAt }: TriggerState) =>
    void set.run(hookId, schedule, lastAt ?? null, nextAt ?? null);
  return {
    list: () => read(() => list.all().map(stateOf)),
    get: (hookId) =>
      read(() => {
        const row = get.get(hookId);
        return row && stateOf(row);
      }),
    set: (state) => write(() => put(state)),
    fire: (hookId, expected, state, run) =>
      write(() => {
        if (get.get(hookId)?.next_at !== expected) return false;
        put(state);
        insertRun(run);
        return true;
      }),
    forget: (hookId) => write(() => void forget.run(hookId)),
  };
}

export function stateOf({ hook_id, schedule, last_at, next_at }: TriggerRow): TriggerState {
  return {
    hookId: hook_id,
    schedule,
    lastAt: last_at ?? undefined,
    nextAt: next_at ?? undefined,
  };
}
