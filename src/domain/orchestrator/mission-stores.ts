/** The stores of missions, together. */
import type { AssessmentStore } from "./assessment.js";
import type { MissionStore } from "./mission.js";
import type { ScheduleStore } from "./schedule.js";

export interface MissionStores {
  rows: MissionStore;
  schedules: ScheduleStore;
  assessments: AssessmentStore;
}
