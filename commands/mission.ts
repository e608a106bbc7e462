/** `/mission run|list|show|report|cancel|retry|plans`: plans that are carried out. */

import { defineCommand } from "./define.js";
import { cancelMission, retryMission, runMission } from "./mission/act.js";
import { listMissions, listPlans } from "./mission/list.js";
import { reportMission } from "./mission/report.js";
import { showMission } from "./mission/show.js";

export const mission = defineCommand({
  name: "mission",
  group: "tasks",
  summary: "Missions: carry out a plan, see how it goes, its report",
  role: "viewer",
  actions: {
    list: { summary: "Missions and how far each is", run: listMissions },
    run: { summary: "Start a plan", role: "operator", run: runMission },
    show: { summary: "One mission with its tasks", run: showMission },
    report: { summary: "What a mission achieved, as a report", run: reportMission },
    cancel: { summary: "Stop a mission", role: "operator", run: cancelMission },
    retry: { summary: "Call the hooks again that blocked it", role: "operator", run: retryMission },
    plans: { summary: "The plans that can be run", run: listPlans },
  },
  options: [
    {
      name: "id",
      summary: "run: a plan; else a mission by id or title, or a plan for its newest one; list: a status or a plan",
      type: "string",
      complete: "missions",
      completeFor: { run: "plans", cancel: "open-missions", retry: "open-missions", plans: "words" },
    },
    { name: "reason", summary: "cancel: why", type: "string", rest: true },
    { name: "page", summary: "list: which page", type: "integer" },
  ],
});
