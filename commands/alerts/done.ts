/** The answer to something done with an alert: one short line. What stands on the card changes by itself. */
import type { Alert } from "../../src/domain/alert.js";
import type { CommandAnswer } from "../../src/gateway/commands.js";
import { code, count, plain } from "../text.js";
import { alertData } from "./need.js";

export function done({ alerts, changed }: { alerts: Alert[]; changed: number }, verb: string): CommandAnswer {
  const [first] = alerts;
  const one = alerts.length === 1 && first !== undefined;
  const text = one
    ? changed > 0
      ? `✓ ${verb}: ${plain(first.signal.title, 120)} is ${first.state}.`
      : `Nothing to do: ${plain(first.signal.title, 120)} is ${first.state}${first.ack ? `, by ${plain(first.ack.by, 60)}` : ""}.`
    : `✓ ${verb}: ${count(changed, "alert")}.`;
  return {
    message: { text: one ? `${text} ${code(first.id)}` : text },
    data: { changed, alerts: alerts.map(alertData) },
    isNote: true,
  };
}
