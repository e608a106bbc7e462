/** Missions: a change is written over the version that it was made from, together with the work that follows it. */
import type { Mission, MissionReport, MissionRow, MissionStore } from "../../domain/orchestrator/mission.js";
import type { NewPending } from "../../domain/pending.js";
import type { Connection } from "../connection.js";
import type { AddPending } from "../pending.js";

interface Row {
  data: string;
  report: string | null;
}

/** Within a transaction; false when the id exists. */
export type InsertMission = (row: MissionRow, pending: readonly NewPending[]) => boolean;

type Values = [
  version: number,
  planId: string,
  status: string,
  endedAt: number | null,
  data: string,
  report: string | null,
];
const COLUMNS = "version, plan_id, status, ended_at, data, report";
const CHUNK = 200;

export function createInsertMission({ database }: Connection, addPending: AddPending): InsertMission {
  const insert = database.prepare<[string, ...Values]>(
    `INSERT INTO missions (id, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  return (row, pending) => {
    if (insert.run(row.mission.id, ...valuesOf(row)).changes === 0) return false;
    addPending(pending);
    return true;
  };
}

export function createMissions(
  { database, read, write }: Connection,
  insertMission: InsertMission,
  addPending: AddPending,
): MissionStore {
  const update = database.prepare<[...Values, string, number]>(
    `UPDATE missions SET (${COLUMNS}) = (?, ?, ?, ?, ?, ?) WHERE id = ? AND version = ?`,
  );
  const get = database.prepare<[string], Row>("SELECT data, report FROM missions WHERE id = ?");
  // Lists come as JSON; an absent one is NULL and lets all pass.
  const list = database.prepare<[string | null, string | null, string | null, string | null, number], Row>(
    `SELECT data, report FROM missions
     WHERE (? IS NULL OR status IN (SELECT value FROM json_each(?))) AND (? IS NULL OR plan_id = ?)
     ORDER BY seq DESC LIMIT ?`,
  );
  const open = database.prepare<[], { id: string }>("SELECT id FROM missions WHERE ended_at IS NULL ORDER BY seq");
  const sweep = database.prepare<[number, number]>(
    `DELETE FROM missions WHERE seq IN
     (SELECT seq FROM missions WHERE ended_at < ? ORDER BY ended_at LIMIT ?)`,
  );
  return {
    insert: (row, pending = []) => write(() => insertMission(row, pending)),
    commit: (row, pending = []) =>
      write(() => {
        if (update.run(...valuesOf(row), row.mission.id, row.mission.version - 1).changes === 0) return false;
        addPending(pending);
        return true;
      }),
    get: (id) =>
      read(() => {
        const row = get.get(id);
        return row && rowOf(row);
      }),
    list: ({ status, planId, limit }) =>
      read(() => {
        const statuses = status === undefined ? null : JSON.stringify(status);
        return list.all(statuses, statuses, planId ?? null, planId ?? null, limit).map((row) => rowOf(row).mission);
      }),
    open: () => read(() => open.all().map(({ id }) => id)),
    async sweep(before) {
      let removed = 0;
      for (let some = CHUNK; some === CHUNK; removed += some)
        some = await write(() => sweep.run(before, CHUNK).changes);
      return removed;
    },
  };
}

function valuesOf({ mission, report }: MissionRow): Values {
  return [
    mission.version,
    mission.planId,
    mission.status,
    mission.endedAt ?? null,
    JSON.stringify(mission),
    report === undefined ? null : JSON.stringify(report),
  ];
}

function rowOf({ data, report }: Row): MissionRow {
  return {
    mission: JSON.parse(data) as Mission,
    report: report === null ? undefined : (JSON.parse(report) as MissionReport),
  };
}
