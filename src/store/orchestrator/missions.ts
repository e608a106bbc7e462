/** Missions: a change is written over the version that it was made from, together with what hooks are owed for it. */
import type { Mission, MissionReport, MissionRow, MissionStore, OwedTelling } from "../../domain/mission.js";
import type { Connection } from "../connection.js";

interface Row {
  data: string;
  owed: string | null;
  report: string | null;
}

/** Within a transaction; false when the id is there. */
export type InsertMission = (row: MissionRow) => boolean;

type Values = [
  version: number,
  planId: string,
  status: string,
  endedAt: number | null,
  data: string,
  owed: string | null,
  report: string | null,
];
const COLUMNS = "version, plan_id, status, ended_at, data, owed, report";
const CHUNK = 200;

export function createInsertMission({ database }: Connection): InsertMission {
  const insert = database.prepare<[string, ...Values]>(
    `INSERT INTO missions (id, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  return (row) => insert.run(row.mission.id, ...valuesOf(row)).changes === 1;
}

export function createMissions({ database, read, write }: Connection, insertMission: InsertMission): MissionStore {
  const update = database.prepare<[...Values, string, number]>(
    `UPDATE missions SET (${COLUMNS}) = (?, ?, ?, ?, ?, ?, ?) WHERE id = ? AND version = ?`,
  );
  const get = database.prepare<[string], Row>("SELECT data, owed, report FROM missions WHERE id = ?");
  // Lists come as JSON; an absent one is NULL and lets all pass.
  const list = database.prepare<[string | null, string | null, string | null, string | null, number], Row>(
    `SELECT data, owed, report FROM missions
     WHERE (? IS NULL OR status IN (SELECT value FROM json_each(?))) AND (? IS NULL OR plan_id = ?)
     ORDER BY seq DESC LIMIT ?`,
  );
  const open = database.prepare<[], { id: string }>(
    "SELECT id FROM missions WHERE ended_at IS NULL OR owed IS NOT NULL ORDER BY seq",
  );
  const sweep = database.prepare<[number, number]>(
    `DELETE FROM missions WHERE seq IN
     (SELECT seq FROM missions WHERE ended_at < ? AND owed IS NULL ORDER BY ended_at LIMIT ?)`,
  );
  return {
    insert: (row) => write(() => insertMission(row)),
    commit: (row) => write(() => update.run(...valuesOf(row), row.mission.id, row.mission.version - 1).changes === 1),
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

function valuesOf({ mission, owed, report }: MissionRow): Values {
  return [
    mission.version,
    mission.planId,
    mission.status,
    mission.endedAt ?? null,
    JSON.stringify(mission),
    owed.length === 0 ? null : JSON.stringify(owed),
    report === undefined ? null : JSON.stringify(report),
  ];
}

function rowOf({ data, owed, report }: Row): MissionRow {
  return {
    mission: JSON.parse(data) as Mission,
    owed: owed === null ? [] : (JSON.parse(owed) as OwedTelling[]),
    report: report === null ? undefined : (JSON.parse(report) as MissionReport),
  };
}
