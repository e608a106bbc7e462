/** The buttons of a card. Each is a command, run as whoever presses it; the command checks the role. */
import type { Alert } from "../../domain/alert.js";
import type { Button } from "../../domain/message.js";
import type { RouteConfig } from "../config.js";

type Settings = Pick<RouteConfig, "buttons" | "snooze"> & { canEscalate: boolean };

export function buttonsOf(alert: Alert, { buttons, snooze, canEscalate }: Settings): Button[][] {
  const { id, state, signal } = alert;
  const has = (name: Settings["buttons"][number]) => buttons.includes(name);
  const canAck = state !== "acked";
  const first = [
    has("ack") && canAck && press("Acknowledge", `/ack ${id}`, "success"),
    has("assign") && press("Assign to me", `/alerts assign ${id}`),
    has("escalate") && state === "firing" && canEscalate && press("Escalate", `/alerts escalate ${id}`, "danger"),
    has("resolve") && press("Resolve", `/alerts resolve ${id}`),
  ];
  const second =
    has("snooze") && state !== "snoozed"
      ? [
          ...snooze.slice(0, 4).map((length) => press(snoozeLabel(length), `/snooze ${id} ${length}`)),
          asking("Snooze…", `/snooze ${id}`, { id: "for", label: "How long, such as 90m or 2h" }),
        ]
      : [has("snooze") && press("Wake", `/snooze ${id} off`)];
  const policy = signal.source.policyId;
  const third = [
    has("note") && asking("Note", `/alerts note ${id}`, { id: "text", label: "Note", long: true }),
    has("extend") && signal.source.kind === "sla" && press("Extend 1h", `/sla extend ${signal.source.id} 1h`),
    has("mute") &&
      policy !== undefined &&
      press("Mute policy", `/silence add matchers=${quoted(`policy=${policy}`)} for=8h comment="muted from a card"`),
  ];
  return [first, second, third]
    .map((row) => row.filter((one): one is Button => one !== false))
    .filter((row) => row.length > 0);
}

function press(label: string, line: string, style: Button["style"] = "secondary"): Button {
  return { label, style, action: { kind: "command", line } };
}

/** A form, where the platform has forms; elsewhere the command says how to write it. */
function asking(label: string, line: string, field: { id: string; label: string; long?: boolean }): Button {
  const form = { title: label, fields: [{ ...field, required: true }] };
  return { label, style: "secondary", action: { kind: "command", line, form } };
}

const snoozeLabel = (length: string) => (length === "business" ? "Next business hour" : `Snooze ${length}`);

const quoted = (text: string) => `"${text.replace(/["\\]/g, "\\$&")}"`;
