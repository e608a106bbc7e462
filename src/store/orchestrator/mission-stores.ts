/** Missions, their schedules, and assessments. */
import type { MissionStores } from "../../domain/mission-stores.js";
import type { Connection } from "../connection.js";
import { createAssessments } from "./assessments.js";
import { createInsertMission, createMissions } from "./missions.js";
import { createSchedules } from "./schedules.js";

export function createMissionStores(connection: Connection): MissionStores {
  const insertMission = createInsertMission(connection);
  return {
    rows: createMissions(connection, insertMission),
    schedules: createSchedules(connection, insertMission),
    assessments: createAssessments(connection),
  };
}
