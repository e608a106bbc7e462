/** `/alerts [open|mine|all]`: what is open; `show` one; and what people do with one besides `/ack` and `/snooze`. */

import { parseAddress } from "../src/domain/address.js";
import { type Actor, isOpen } from "../src/domain/alert.js";
import type { CommandSpec } from "../src/domain/command.js";
import { hasRole } from "../src/domain/identity.js";
import type { Command, CommandAnswer } from "../src/gateway/commands.js";
import { actionOption } from "./action-option.js";
import { done } from "./alerts/done.js";
import { listAlerts } from "./alerts/list.js";
import { actorOf, alertData, idOf, needAlerts } from "./alerts/need.js";
import { showAlert } from "./alerts/show.js";
import { answer, badUsage } from "./answer.js";
import type { AlertDesk, CommandDeps } from "./deps.js";
import { code, plain } from "./text.js";

const ACTIONS = {
  open: "Open alerts",
  mine: "Open alerts that you took",
  all: "All alerts, resolved ones too",
  show: "One alert in full",
  assign: "Take an alert",
  escalate: "Notify the next person now",
  resolve: "Close an alert",
  note: "Add a note to an alert",
  test: "Send a test message to the place that an alert could not reach",
} as const;
type Action = keyof typeof ACTIONS;
const TAKEN = { verb: "Taken", event: "assign" };

/** What takes more than looking. */
const ACTING: ReadonlySet<string> = new Set(["assign", "escalate", "resolve", "note", "test"]);

export const alertsSpec: CommandSpec = {
  name: "alerts",
  summary: "Alerts: overdue or broken work, and who handles it",
  role: "viewer",
  options: [
    actionOption(ACTIONS, "open"),
    { name: "id", summary: "The id of an alert (al_…), or last", type: "string", complete: "alerts" },
    { name: "text", summary: "note: what to write; resolve: why", type: "string", rest: true },
    { name: "page", summary: "Which page", type: "integer" },
    { name: "limit", summary: "How many on a page", type: "integer" },
  ],
};

export function alerts(deps: CommandDeps): Command {
  return {
    ...alertsSpec,
    allows: async ({ role }, { action }) => !ACTING.has(String(action)) || hasRole(role, "operator"),
    answersWithNote: ({ action }) => ACTING.has(String(action)),
    async run(context) {
      const desk = needAlerts(deps);
      const { options } = context;
      const action = (options.action ?? "open") as Action; // checked against the choices by the spec
      const by = actorOf(context);
      const answering = { desk, clock: deps.clock };
      switch (action) {
        case "open":
        case "mine":
        case "all":
          return listAlerts(deps, context, action);
        case "show":
          return showAlert(deps, context, await idOf(desk, options.id, context));
        case "assign":
          context.need("operator");
          return done(
            await desk.act(await idOf(desk, options.id, context), { kind: "assign" }, by, context.operator.role),
            TAKEN,
            answering,
          );
        case "escalate":
          context.need("operator");
          return escalate(await idOf(desk, options.id, context), by, answering);
        case "resolve": {
          context.need("operator");
          const reason = typeof options.text === "string" ? options.text : undefined;
          const acted = await desk.act(await idOf(desk, options.id, context), { kind: "resolve", reason }, by);
          return done(acted, { verb: "Resolved", event: "resolve" }, answering);
        }
        case "test":
          context.need("operator");
          return test(deps, desk, await idOf(desk, options.id, context));
        case "note": {
          context.need("operator");
          if (typeof options.text !== "string")
            throw badUsage("Missing: the note.", `Write it: \`/alerts note ${String(options.id ?? "ID")} your words\``);
          const acted = await desk.act(await idOf(desk, options.id, context), { kind: "note", text: options.text }, by);
          return done(acted, { verb: "Noted", event: "note" }, answering);
        }
      }
    },
  };
}

/** Says so when nobody is left to tell: whoever pressed relies on it. */
async function escalate(
  id: string,
  by: Actor,
  answering: { desk: AlertDesk; clock: CommandDeps["clock"] },
): Promise<CommandAnswer> {
  const { desk } = answering;
  const before = await desk.get(id);
  const acted = await desk.act(id, { kind: "escalate" }, by);
  const [after] = acted.alerts;
  if (before && after && isOpen(after.state) && after.steps === before.steps)
    return answer({
      text: [`No one was notified: ${plain(after.signal.title, 120)} has no further escalation step. ${code(id)}`],
      data: { changed: 0, alerts: acted.alerts.map(alertData) },
    });
  return done(acted, { verb: "Escalated", event: "escalate" }, answering);
}

async function test({ placeName }: CommandDeps, desk: AlertDesk, id: string): Promise<CommandAnswer> {
  const destination = await desk.test(id);
  if (destination === undefined)
    throw badUsage("A test message is for alerts about a chat that alerts do not reach.", "`/alerts` lists them.");
  const at = parseAddress(destination);
  const name = at && placeName?.(at);
  const text = `✓ A test message is on its way to ${name ? plain(name) : code(destination)}. The alert ends when it arrives.`;
  return { ...answer({ text: [text], data: { id, destination } }), isNote: true };
}
