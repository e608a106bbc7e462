/** `/ack ID`: somebody has it. Of a card of many: all of them. */
import type { CommandSpec } from "../src/domain/command.js";
import type { Command } from "../src/gateway/commands.js";
import { done } from "./alerts/done.js";
import { actorOf, idOf, lengthOf, needAlerts } from "./alerts/need.js";
import type { CommandDeps } from "./deps.js";

export const ackSpec: CommandSpec = {
  name: "ack",
  summary: "Acknowledges an alert: reminders and escalations stop",
  role: "operator",
  options: [
    {
      name: "id",
      summary: "An alert (al_…), all of a card (ac_…), or last",
      type: "string",
      required: true,
      complete: "alerts",
    },
    { name: "for", summary: "For how long; else as its route says", type: "string" },
    { name: "assign", summary: "Take it as well", type: "boolean" },
  ],
};

export function ack(deps: CommandDeps): Command {
  return {
    ...ackSpec,
    async run({ options, operator }) {
      const desk = needAlerts(deps);
      const untilAt = options.for === undefined ? undefined : deps.clock.now() + lengthOf(options.for, "`for`");
      const action = {
        kind: "ack" as const,
        assign: options.assign === true,
        ...(untilAt === undefined ? {} : { untilAt }),
      };
      return done(await desk.act(await idOf(desk, options.id), action, actorOf(operator)), "Acknowledged");
    },
  };
}
