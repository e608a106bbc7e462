/** The buttons of a card. Each is a command that runs as the person who presses it; the command checks the role. */
import { type Alert, isOpen } from "../../domain/alerts/alert.js";
import type { ClockStanding } from "../../domain/alerts/alert-signal.js";
import { word } from "../../domain/chat/command.js";
import { commandButton } from "../../domain/chat/command-button.js";
import type { Button, Form } from "../../domain/chat/message.js";
import type { RouteConfig } from "../config.js";
import { testedBy } from "../tell/pages/test-arrival.js";

type Settings = Pick<RouteConfig, "buttons" | "snooze" | "extend" | "mute">;

export const SNOOZE_QUESTION = "How long, or until when (2h, tomorrow 9:00)";

export interface Now {
  canEscalate: boolean;
  /** People's extension of its clock so far: a press on a card that shows an older one changes nothing. Absent: no clock. */
  given?: number | undefined;
  isMuted: boolean;
}

/** Where an operator acts: a copy can be answered, so it goes before the chat of the customer, which the title of the card leads to. */
function opening({ signal }: Alert, standing: ClockStanding | undefined): Button | false {
  const copy = urlOf(standing?.copy?.link);
  if (copy !== undefined) return link("Open copy", copy);
  const url = urlOf((standing?.entity ?? signal.entity)?.link);
  return url !== undefined && link(signal.entity?.type === "conversation" ? "Open chat" : "Open", url);
}

/** Four buttons at most, for the usual actions at night. The rest is behind "More…". */
export function cardButtons(alert: Alert, settings: Settings, standing: ClockStanding | undefined): Button[][] {
  const { id, state } = alert;
  const has = (name: Settings["buttons"][number]) => settings.buttons.includes(name);
  const snooze =
    state === "snoozed"
      ? commandButton("Wake", `/snooze ${id} off`)
      : settings.snooze.length > 0 && commandButton("Snooze ▾", `/snooze ${id}`);
  const row = [
    opening(alert, standing),
    has("ack") && canAcknowledge(alert) && commandButton("Acknowledge", `/ack ${id}`, "success"),
    has("snooze") && snooze,
    testedBy(alert) !== undefined && commandButton("Send test message", `/alerts test ${id}`),
    commandButton("More…", `/alerts show ${id}`),
  ];
  return [row.filter((one): one is Button => one !== false)];
}

/** An operator who was called after an acknowledgement can acknowledge it, too. */
const canAcknowledge = ({ state, called }: Alert) => state !== "acked" || called !== undefined;

/** The buttons of all actions on the alert. */
export function detailButtons(alert: Alert, settings: Settings, now: Now): Button[][] {
  const has = (name: Settings["buttons"][number]) => settings.buttons.includes(name);
  const { id, state, steps } = alert;
  if (!isOpen(state)) return [];
  const first = [
    has("ack") && canAcknowledge(alert) && commandButton("Acknowledge", `/ack ${id}`, "success"),
    has("assign") && commandButton("Assign to me", `/alerts assign ${id}`),
    has("escalate") &&
      state === "firing" &&
      now.canEscalate &&
      commandButton("Escalate", `/alerts escalate ${id} expected=${steps}`, "danger"),
    ...(has("resolve") ? resolving(alert, now) : []),
    has("note") && asking("Note", `/alerts note ${id}`, [{ id: "text", label: "Note", long: true, required: true }]),
  ];
  const rows = [
    first,
    has("snooze") ? snoozing(alert, settings) : [],
    has("extend") ? extending(alert, settings, now) : [],
    has("mute") ? muting(alert, settings, now) : [],
  ];
  return rows.map((row) => row.filter((one): one is Button => one !== false)).filter((row) => row.length > 0);
}

/**
 * Each button names the thing that it ends: the clock of a warning runs on. A task or a mission ends by its own commands, and its alert
 * with it.
 */
function resolving({ id, condition, signal: { source, entity } }: Alert, { given }: Now): (Button | false)[] {
  if (given === undefined) return [commandButton("Resolve", `/alerts resolve ${id}`)];
  const fields = [{ id: "reason", label: "Why it ends without an answer", required: true }];
  return [
    condition === "warned" && commandButton("Resolve warning", `/alerts resolve ${id}`),
    entity?.type === "conversation" && asking("End conversation…", `/sla close ${source.id}`, fields),
  ];
}

export function snoozing({ id, state }: Pick<Alert, "id" | "state">, { snooze }: Pick<Settings, "snooze">): Button[] {
  if (state === "snoozed") return [commandButton("Wake", `/snooze ${id} off`)];
  return [
    ...snooze.map((length) => commandButton(labelOf("Snooze", length), `/snooze ${id} ${length}`)),
    asking("Snooze…", `/snooze ${id}`, [{ id: "for", label: SNOOZE_QUESTION, required: true }]),
  ];
}

function extending({ signal: { source } }: Alert, { extend }: Settings, { given }: Now): Button[] {
  if (source.kind !== "sla") return [];
  const line = `/sla extend ${source.id}${given === undefined ? "" : ` expected=${given}`}`;
  const title = "How long, or until when (2h, fri 17:00)";
  return [
    ...extend.map((length) => commandButton(labelOf("Extend", length), `${line} by=${length}`)),
    asking("Extend…", line, [{ id: "by", label: title, required: true }]),
  ];
}

function muting({ signal: { source } }: Alert, { mute }: Settings, { isMuted }: Now): Button[] {
  if (source.kind !== "sla" || source.policyId === undefined) return [];
  const policy = word(source.policyId);
  if (isMuted) return [commandButton("Unmute policy", `/sla unmute id=${policy}`)];
  const fields = [
    { id: "by", label: "How long, or until when (8h, mon 9:00)", required: true },
    { id: "reason", label: "Why" },
  ];
  return [
    ...mute.map((length) => commandButton(labelOf("Mute policy", length), `/sla mute id=${policy} by=${length}`)),
    asking("Mute policy…", `/sla mute id=${policy}`, fields),
  ];
}

export const link = (label: string, url: string): Button => ({ label, url });

export function asking(label: string, line: string, fields: Form["fields"]): Button {
  return { label, style: "secondary", action: { kind: "command", line, form: { title: label, fields } } };
}

export function labelOf(what: string, length: string): string {
  if (length !== "business") return `${what} ${length}`;
  return what === "Snooze" ? "Next business hour" : `${what} to business hours`;
}

/** An address that every platform opens. */
export function urlOf(address: string | undefined): string | undefined {
  return address !== undefined && /^https?:\/\/\S+$/.test(address) ? address : undefined;
}
