/** What is left of a card whose alert is told elsewhere now: where that is, and nothing to press. */
import type { Alert } from "../../domain/alert.js";
import type { OutboundMessage } from "../../domain/message.js";
import { markOf } from "./words.js";

export function movedCard(alert: Alert, movedTo: readonly string[]): OutboundMessage {
  return {
    text: "",
    card: {
      title: `${markOf(alert)} ${alert.signal.title}`.slice(0, 250),
      text: `${movedWords(movedTo)}. What happens to it is shown there.`,
      tone: "neutral",
      footer: alert.id,
    },
  };
}

export function movedWords(movedTo: readonly string[]): string {
  return `Moved to ${movedTo.map((one) => `\`${one.replaceAll("`", "")}\``).join(", ")}`;
}
