/** A mission on one message that is edited as it goes on: a bar, its running tasks, the reason why it waits. */

import type { Button, Card, OutboundMessage } from "../../domain/chat/message.js";
import { type GateState, isMissionOver, type Mission } from "../../domain/orchestrator/mission.js";
import { isEnded, type Task } from "../../domain/orchestrator/task.js";
import { plainLine } from "../../lib/markdown/escape.js";
import { formatDuration } from "../../lib/time/duration.js";
import { whyShut } from "../quality-gates/evaluate.js";

const WIDTH = 10;
const NAMED = 6;

export function missionCard(mission: Mission, tasks: readonly Task[], now: number): OutboundMessage {
  const { id, status, title, startedAt, endedAt } = mission;
  const total = Object.keys(mission.taskIds).length;
  const over = tasks.filter((task) => isEnded(task.status)).length;
  const shut = mission.gates.filter((gate) => whyShut(gate) !== undefined);
  const since = startedAt === undefined ? undefined : formatDuration((endedAt ?? now) - startedAt);
  const lines = [
    `${bar(over, total)} ${over} of ${total}${endedAt === undefined || since === undefined ? "" : ` · ${since}`}`,
    runningNow(tasks),
    ...shut.map((gate) => `Gate **${plainLine(gate.name)}** is shut: ${shutText(gate, id)}`),
    shut.length > 0 ? "" : reasonText(mission),
  ];
  const buttons = isMissionOver(status) ? [] : [shut.flatMap((gate) => release(id, gate.name)).slice(0, 3)];
  return {
    text: "",
    card: {
      title: `Mission ${title}: ${status}`,
      text: lines.filter((line) => line !== "").join("\n"),
      tone: TONES[status],
      footer: id,
    },
    buttons: buttons.some((row) => row.length > 0) ? buttons : undefined,
    silent: true,
  };
}

/** Everybody in the chat reads the card, and a hook's reason, which may quote messages of other chats, is for operators. */
const refused = (by: string, what: string, id: string) =>
  `${plainLine(by)} refused ${what}. \`/mission show ${id}\` shows operators the reason.`;

function shutText(gate: GateState, id: string): string {
  const isVetoed = gate.verdict === "passed" && gate.veto !== undefined;
  return isVetoed ? refused(gate.veto?.by ?? "a hook", "to open it", id) : plainLine(whyShut(gate) ?? "");
}

function reasonText(mission: Mission): string {
  const { id, status, hold, reason } = mission;
  if (hold?.kind === "veto") return refused(hold.by, `\`${hold.point}\``, id);
  if (reason === undefined || !isMissionOver(status)) return plainLine(reason ?? "");
  const own = status === "cancelled" ? cancelReason(mission) : "";
  // The rest of the reason names tasks that hooks kept from being cancelled, with their reasons.
  const goesOn = reason === own ? "" : `Some of its tasks go on. \`/mission show ${id}\` shows operators the reason.`;
  return [plainLine(own), goesOn].filter((part) => part !== "").join("\n");
}

export function cancelReason({ cancel }: Mission): string {
  return `cancelled by ${cancel?.by}${cancel?.reason === undefined ? "" : `: ${cancel.reason}`}`;
}

const TONES: Readonly<Record<Mission["status"], NonNullable<Card["tone"]>>> = {
  pending: "neutral",
  running: "neutral",
  held: "warning",
  blocked: "warning",
  done: "good",
  failed: "bad",
  cancelled: "neutral",
};

export function bar(part: number, whole: number): string {
  const filled = whole === 0 ? WIDTH : Math.round((part / whole) * WIDTH);
  return "▰".repeat(filled) + "▱".repeat(WIDTH - filled);
}

function runningNow(tasks: readonly Task[]): string {
  const running = tasks.filter(
    ({ status }) => status === "in_progress" || status === "review" || status === "assigned",
  );
  if (running.length === 0) return "";
  const named = running
    .slice(0, NAMED)
    .map(({ title, attempt }) => plainLine(attempt > 1 ? `${title} (try ${attempt})` : title));
  return `Now: ${named.join(", ")}${running.length > NAMED ? ` and ${running.length - NAMED} more` : ""}`;
}

function release(missionId: string, gate: string): Button[] {
  const form = {
    title: "Release the gate",
    fields: [{ id: "reason", label: "Why it may open", required: true, long: true }],
  };
  const label = `Release ${gate}`.slice(0, 40);
  return [{ label, style: "danger", action: { kind: "command", line: `/gate release ${missionId} ${gate}`, form } }];
}
