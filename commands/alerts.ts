/** `/alerts [open|mine|all]`: the open alerts; `show` one; and actions on one besides `/ack` and `/snooze`. */

import { isOpen } from "../src/domain/alerts/alert.js";
import { parseAddress } from "../src/domain/chat/address.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import { done } from "./alerts/done.js";
import { listAlerts } from "./alerts/list.js";
import { actorOf, alertData, idOf, needAlerts } from "./alerts/need.js";
import { showAlert } from "./alerts/show.js";
import { answer, badUsage } from "./answer.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { code, plain } from "./show/text.js";

export const alerts = defineCommand({
  name: "alerts",
  group: "alerts",
  summary: "Alerts: overdue or broken work, and who handles it",
  role: "viewer",
  actions: {
    open: { summary: "Open alerts", run: (deps, context) => listAlerts(deps, context, "open") },
    mine: { summary: "Open alerts that you took", run: (deps, context) => listAlerts(deps, context, "mine") },
    all: { summary: "All alerts, resolved ones too", run: (deps, context) => listAlerts(deps, context, "all") },
    show: { summary: "One alert in full", run: showAlert },
    assign: { summary: "Take an alert", role: "operator", isNoted: true, run: assign },
    escalate: { summary: "Notify the next person now", role: "operator", isNoted: true, run: escalate },
    resolve: {
      summary: "Close a warning (its clock runs on), or an overdue alert with its conversation",
      role: "operator",
      isNoted: true,
      run: resolve,
    },
    note: { summary: "Add a note to an alert", role: "operator", isNoted: true, run: note },
    test: {
      summary: "Send a test message to the place that an alert could not reach",
      role: "operator",
      isNoted: true,
      run: test,
    },
  },
  options: [
    {
      name: "id",
      summary: "An alert's id (al_…), or last: posted last here (the gateway's own after); show: also its name",
      type: "string",
      complete: "alerts",
    },
    { name: "text", summary: "note: what to write; resolve: why", type: "string", rest: true },
    { name: "page", summary: "Which page", type: "integer" },
    { name: "limit", summary: "How many on a page", type: "integer" },
    { name: "expected", summary: "escalate: fail if a step was taken meanwhile; buttons set it", type: "integer" },
  ],
});

const idIn = (deps: CommandDeps, context: CommandContext) => idOf(needAlerts(deps), context.options.id, context);

const answering = (deps: CommandDeps) => ({ desk: needAlerts(deps), clock: deps.clock });

async function assign(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const id = await idIn(deps, context);
  const acted = await needAlerts(deps).act(id, { kind: "assign" }, actorOf(context), context.operator.role);
  const isCalling = acted.changed > 0 && acted.alerts.some(({ state }) => state === "firing");
  const stop = isCalling && `Reminders and escalations continue until you acknowledge it: ${code(`/ack ${id}`)}.`;
  const note = [acted.note, stop].filter(Boolean).join(" ") || undefined;
  return done({ ...acted, note }, { verb: "Taken", event: "assign" }, answering(deps));
}

/** Reports when no person is left to notify: the person who pressed relies on the escalation. */
async function escalate(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const desk = needAlerts(deps);
  const id = await idIn(deps, context);
  const before = await desk.get(id);
  const { expected: given } = context.options;
  const expected = typeof given === "number" ? given : undefined;
  const acted = await desk.act(id, { kind: "escalate", expected }, actorOf(context));
  const [after] = acted.alerts;
  const isOutrun = expected !== undefined && acted.changed === 0 && after?.steps !== expected;
  if (before && after && isOpen(after.state) && after.steps === before.steps && !isOutrun)
    return answer({
      text: [`No one was notified: ${plain(after.signal.title, 120)} has no further escalation step. ${code(id)}`],
      data: { changed: 0, alerts: acted.alerts.map(alertData) },
    });
  const note = isOutrun ? "To notify the next person, press More… and Escalate again." : acted.note;
  return done({ ...acted, note }, { verb: "Escalated", event: "escalate" }, answering(deps));
}

async function resolve(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { text } = context.options;
  const reason = typeof text === "string" ? text : undefined;
  const acted = await needAlerts(deps).act(await idIn(deps, context), { kind: "resolve", reason }, actorOf(context));
  return done(acted, { verb: "Resolved", event: "resolve" }, answering(deps));
}

async function note(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { id, text } = context.options;
  if (typeof text !== "string")
    throw badUsage("Missing: the note.", `Write it: \`/alerts note ${String(id ?? "ID")} your words\``);
  const acted = await needAlerts(deps).act(await idIn(deps, context), { kind: "note", text }, actorOf(context));
  return done(acted, { verb: "Noted", event: "note" }, answering(deps));
}

async function test(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const id = await idIn(deps, context);
  const destination = await needAlerts(deps).test(id);
  if (destination === undefined)
    throw badUsage("A test message is for alerts about a chat that alerts do not reach.", "`/alerts` lists them.");
  const at = parseAddress(destination);
  const name = at && deps.placeName?.(at);
  const text = `✓ A test message is on its way to ${name ? plain(name) : code(destination)}. The alert ends when it arrives.`;
  return { ...answer({ text: [text], data: { id, destination } }), isNote: true };
}
