/** `/snooze ID 1h`: not now. `business`: until the next business hour; `off`: now after all. */
import type { CommandSpec } from "../src/domain/command.js";
import type { Command } from "../src/gateway/commands.js";
import { done } from "./alerts/done.js";
import { actorOf, idOf, lengthOf, needAlerts } from "./alerts/need.js";
import { badUsage } from "./answer.js";
import type { CommandDeps } from "./deps.js";

const MOST_MS = 30 * 86_400_000;

export const snoozeSpec: CommandSpec = {
  name: "snooze",
  summary: "Puts an alert off",
  role: "operator",
  options: [
    {
      name: "id",
      summary: "An alert (al_…), all of a card (ac_…), or last",
      type: "string",
      required: true,
      complete: "alerts",
    },
    { name: "for", summary: "15m, 2h, 1d, business (until the next business hour), or off", type: "string" },
  ],
};

export function snooze(deps: CommandDeps): Command {
  return {
    ...snoozeSpec,
    async run({ options, operator }) {
      const desk = needAlerts(deps);
      const by = actorOf(operator);
      const id = await idOf(desk, options.id);
      if (options.for === undefined) throw badUsage("Missing: how long.", `Such as \`/snooze ${id} 2h\`.`);
      if (options.for === "off") return done(await desk.act(id, { kind: "wake" }, by), "Awake");
      const until =
        options.for === "business" ? desk.nextBusinessHour() : deps.clock.now() + lengthOf(options.for, "`for`");
      if (until > deps.clock.now() + MOST_MS) throw badUsage("An alert can be put off for 30 days at most.");
      return done(await desk.act(id, { kind: "snooze", until }, by), "Snoozed");
    },
  };
}
