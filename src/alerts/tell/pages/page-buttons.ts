/** The buttons of a reminder or an escalation about several alerts. */
import type { Alert } from "../../../domain/alerts/alert.js";
import { commandButton } from "../../../domain/chat/command-button.js";
import type { Button } from "../../../domain/chat/message.js";
import { routeAt } from "../../steps/route.js";
import type { Telling } from "../telling.js";

/** One press acts only on the alerts of this message: a card may get others, which its reader has not seen. */
export function pageButtons(
  alerts: readonly Alert[],
  deliveryId: string | undefined,
  destination: string,
  telling: Telling,
): Button[][] {
  const isAllowed = alerts.every((one) => routeAt(one, destination, telling).settings.buttons.includes("ack"));
  return [
    [
      ...(isAllowed && deliveryId !== undefined
        ? [commandButton("Acknowledge all", `/ack ${deliveryId}`, "success")]
        : []),
      commandButton("Show all", "/alerts open"),
    ],
  ];
}
