/** `/mission run|list|show|report|cancel|retry|plans`: plans that are carried out. */

import type { CommandSpec } from "../src/domain/command.js";
import { hasRole } from "../src/domain/identity.js";
import type { Command } from "../src/gateway/commands.js";
import { actionOption } from "./action-option.js";
import type { CommandDeps } from "./deps.js";
import { cancelMission, retryMission, runMission } from "./mission/act.js";
import { listMissions, listPlans } from "./mission/list.js";
import { reportMission } from "./mission/report.js";
import { showMission } from "./mission/show.js";

const ACTIONS = {
  list: "Missions and how far each is",
  run: "Start a plan",
  show: "One mission with its tasks",
  report: "What a mission achieved, as a report",
  cancel: "Stop a mission",
  retry: "Run its failed tasks again",
  plans: "The plans that can be run",
} as const;
type Action = keyof typeof ACTIONS;

/** What takes more than looking. */
const ACTING: ReadonlySet<string> = new Set(["run", "cancel", "retry"]);

export const missionSpec: CommandSpec = {
  name: "mission",
  summary: "Missions: carry out a plan, see how it goes, its report",
  role: "viewer",
  options: [
    actionOption(ACTIONS, "list"),
    {
      name: "id",
      summary: "run: a plan; else a mission, or a plan for its newest one; list: a status or a plan",
      type: "string",
      complete: "missions",
      completeFor: { run: "plans", cancel: "open-missions", retry: "open-missions", plans: "words" },
    },
    { name: "reason", summary: "cancel: why", type: "string", rest: true },
    { name: "page", summary: "list: which page", type: "integer" },
  ],
};

export function mission(deps: CommandDeps): Command {
  return {
    ...missionSpec,
    allows: async ({ role }, { action }) => !ACTING.has(String(action)) || hasRole(role, "operator"),
    async run(context) {
      const action = (context.options.action ?? "list") as Action; // checked against the choices by the spec
      switch (action) {
        case "list":
          return listMissions(deps, context);
        case "plans":
          return listPlans(deps);
        case "run":
          return runMission(deps, context);
        case "show":
          return showMission(deps, context);
        case "report":
          return reportMission(deps, context);
        case "cancel":
          return cancelMission(deps, context);
        case "retry":
          return retryMission(deps, context);
      }
    },
  };
}
