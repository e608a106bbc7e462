/** `/digest`: what is open and what happened in the last day, in one message. */
import type { CommandSpec } from "../src/domain/command.js";
import type { Command } from "../src/gateway/commands.js";
import { alertData, needAlerts } from "./alerts/need.js";
import type { CommandDeps } from "./deps.js";

export const digestSpec: CommandSpec = {
  name: "digest",
  summary: "Alerts in one message: what is open, what happened in the last day",
  role: "viewer",
  options: [],
};

export function digest(deps: CommandDeps): Command {
  return {
    ...digestSpec,
    async run() {
      const { message, open, counts } = await needAlerts(deps).digest();
      return { message, data: { open: open.map(alertData), counts } };
    },
  };
}
