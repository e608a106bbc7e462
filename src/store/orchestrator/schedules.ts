/** Schedules that start missions. The next time moves together with the mission that it starts, or not at all. */
import type { Schedule, ScheduleStore, StartedMission } from "../../domain/orchestrator/schedule.js";
import type { Connection } from "../connection.js";
import type { InsertMission } from "./missions.js";

interface Row {
  id: string;
  next_at: number | null;
  data: string;
}

export function createSchedules({ database, read, write }: Connection, insertMission: InsertMission): ScheduleStore {
  const list = database.prepare<[], Row>("SELECT id, next_at, data FROM schedules ORDER BY id");
  const get = database.prepare<[string], Row>("SELECT id, next_at, data FROM schedules WHERE id = ?");
  const set = database.prepare<[string, number | null, string]>(
    "INSERT OR REPLACE INTO schedules (id, next_at, data) VALUES (?, ?, ?)",
  );
  const forget = database.prepare<[string]>("DELETE FROM schedules WHERE id = ?");
  const put = ({ nextAt, ...schedule }: Schedule) =>
    void set.run(schedule.id, nextAt ?? null, JSON.stringify(schedule));
  const insert = (started: StartedMission | undefined) =>
    started !== undefined && insertMission({ mission: started.mission }, started.pending);
  return {
    list: () => read(() => list.all().map(scheduleOf)),
    get: (id) =>
      read(() => {
        const row = get.get(id);
        return row && scheduleOf(row);
      }),
    set: (schedule) => write(() => put(schedule)),
    fire: (schedule, expected, started) =>
      write(() => {
        if (get.get(schedule.id)?.next_at !== expected) return undefined;
        put(schedule);
        return insert(started);
      }),
    note: (id, last, started) =>
      write(() => {
        const row = get.get(id);
        if (row !== undefined) put({ ...scheduleOf(row), last });
        return insert(started);
      }),
    forget: (id) => write(() => void forget.run(id)),
  };
}

function scheduleOf({ data, next_at }: Row): Schedule {
  return { ...(JSON.parse(data) as Omit<Schedule, "nextAt">), nextAt: next_at ?? undefined };
}
