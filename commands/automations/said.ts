/** Why a message of a configured hook's run is not in a thread of its own. */

import type { AutomationRun } from "../../src/domain/automation.js";
import { handedOver } from "../../src/domain/deliveries/fates.js";
import { plain } from "../show/text.js";

const MAX_REASON = 300;

export function whyInChat(run: AutomationRun, deliveryId: string): string | undefined {
  const why = handedOver(run).find(({ delivery }) => delivery === deliveryId)?.noThread;
  return why === undefined ? undefined : `in the chat itself: ${shownReason(why)}`;
}

/** Why no thread was opened. */
export const shownReason = (reason: string) => plain(reason, MAX_REASON);
