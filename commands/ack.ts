/** `/ack ID`: acknowledges an alert; for a card or a message of several alerts, all of them. */
import { done, momentText } from "./alerts/done.js";
import { ALERT_ID, actorOf, idOf, lengthOf, needAlerts } from "./alerts/need.js";
import { defineCommand } from "./define.js";

export const ack = defineCommand({
  name: "ack",
  group: "alerts",
  summary: "Acknowledges an alert: reminders and escalations stop",
  role: "operator",
  options: [
    ALERT_ID,
    {
      name: "for",
      summary: "For how long, also when a time holds already. Default: as the route sets",
      type: "string",
    },
    { name: "assign", summary: "Take it as well", type: "boolean" },
  ],
  answersWithNote: () => true,
  async run(deps, context) {
    const { options } = context;
    const desk = needAlerts(deps);
    const untilAt = options.for === undefined ? undefined : deps.clock.now() + lengthOf(options.for, "`for`");
    const action = {
      kind: "ack" as const,
      assign: options.assign === true,
      untilAt,
    };
    const acted = await desk.act(
      await idOf(desk, options.id, context),
      action,
      actorOf(context),
      context.operator.role,
    );
    const until = untilAt === undefined ? undefined : ` until ${momentText(untilAt, desk)}`;
    return done(acted, { verb: "Acknowledged", event: "ack", until }, { desk, clock: deps.clock });
  },
});
