/** `/alerts show ID`: one alert with its whole history. */

import { isOpen } from "../../src/domain/alert.js";
import type { CommandAnswer } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { ago, clip, clockTime, plain } from "../text.js";
import { alertData, needAlerts } from "./need.js";

export async function showAlert(deps: CommandDeps, id: string): Promise<CommandAnswer> {
  const desk = needAlerts(deps);
  const alert = await desk.get(id);
  if (!alert)
    throw new HookgateError({
      code: "NOT_FOUND",
      message: `There is no alert "${clip(id, 80)}".`,
      hint: "/alerts lists those that are open.",
    });
  const now = deps.clock.now();
  const { signal } = alert;
  const history = await desk.history(id);
  const events = history.map(
    ({ at, event, from, to, actor, reason }) =>
      `- ${clockTime(at, now)} **${plain(event)}** ${from === undefined || from === to ? to : `${from} → ${to}`}, ${plain(actor.name, 60)} (${plain(actor.source, 30)})${reason ? `: ${plain(reason, 160)}` : ""}`,
  );
  return answer({
    text: [
      `**${plain(signal.title, 160)}** ${alert.state} (${alert.severity}), raised ${ago(alert.raisedAt, now)}`,
      plain(signal.reason),
      [
        `source ${plain(signal.source.kind)} ${plain(signal.source.id, 80)}${signal.source.policyId ? `, policy ${plain(signal.source.policyId)}` : ""}`,
        ...Object.entries(signal.labels).map(([name, value]) => `${plain(name)}: ${plain(value, 80)}`),
        ...(signal.runbook ? [`runbook: ${plain(signal.runbook)}`] : []),
        ...(alert.assignee ? [`assigned to ${plain(alert.assignee.name)}`] : []),
        ...(alert.quietBy ? [`kept quiet by ${plain(alert.quietBy)}`] : []),
        ...(alert.nextAt === undefined ? [] : [`looked at again ${clockTime(alert.nextAt, now)} UTC`]),
      ].join("\n"),
      alert.notes.map(({ by, text, at }) => `> ${plain(text)} (${plain(by, 60)}, ${ago(at, now)})`).join("\n"),
      `**History** (UTC)\n${events.join("\n")}`,
    ],
    data: { ...alertData(alert), notes: alert.notes, history },
    buttons: isOpen(alert.state)
      ? [
          [
            commandButton("Acknowledge", `/ack ${id}`, "success"),
            commandButton("Snooze 1h", `/snooze ${id} 1h`),
            commandButton("Resolve", `/alerts resolve ${id}`),
          ],
        ]
      : [],
  });
}
