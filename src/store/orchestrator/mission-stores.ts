/** Missions, their schedules, and assessments. */
import type { MissionStores } from "../../domain/orchestrator/mission-stores.js";
import type { Connection } from "../connection.js";
import type { AddPending } from "../pending.js";
import { createAssessments } from "./assessments.js";
import { createInsertMission, createMissions } from "./missions.js";
import { createSchedules } from "./schedules.js";

export function createMissionStores(connection: Connection, addPending: AddPending): MissionStores {
  const insertMission = createInsertMission(connection, addPending);
  return {
    rows: createMissions(connection, insertMission, addPending),
    schedules: createSchedules(connection, insertMission),
    assessments: createAssessments(connection, addPending),
  };
}
