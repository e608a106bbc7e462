/** `/digest`: open matters and the events of the last day, in one message. */
import { alertData, needAlerts } from "./alerts/need.js";
import { defineCommand } from "./define.js";

export const digest = defineCommand({
  name: "digest",
  group: "alerts",
  summary: "Alerts in one message: what is open, what happened in the last day",
  role: "viewer",
  options: [],
  async run(deps) {
    const { message, open, counts } = await needAlerts(deps).digest();
    return { message, data: { open: open.map(alertData), counts } };
  },
});
