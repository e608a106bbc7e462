/** The rest of a card whose alert has moved to another chat: the new place, and no buttons. */
import type { Alert } from "../../domain/alerts/alert.js";
import type { OutboundMessage } from "../../domain/chat/message.js";
import type { Alerting } from "../alerting.js";
import { shownAs } from "../tell/shown-as.js";
import { inline, markOf } from "./words.js";

export function movedCard(
  alert: Alert,
  movedTo: readonly string[],
  around: Pick<Alerting, "placeName">,
): OutboundMessage {
  return leftCard(alert, `${movedWords(movedTo, around)}. What happens to it is shown there.`);
}

/** The alert came back to this chat, or moved to another one: another card shows it. */
export function supersededCard(alert: Alert, isHere: boolean): OutboundMessage {
  const where = isHere
    ? "A newer message in this chat shows this alert"
    : "This alert is not shown in this chat any more";
  return leftCard(alert, `${where}. \`/alerts show ${alert.id}\` shows it as well.`);
}

function leftCard(alert: Alert, text: string): OutboundMessage {
  return {
    text: "",
    card: {
      title: `${markOf(alert)} ${alert.signal.title}`.slice(0, 250),
      text,
      tone: "neutral",
      footer: alert.id,
    },
  };
}

export function movedWords(movedTo: readonly string[], { placeName }: Pick<Alerting, "placeName">): string {
  return `Moved to ${movedTo.map((one) => inline(shownAs(one, placeName))).join(", ")}`;
}
