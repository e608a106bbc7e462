/** Pages of an alert that are due and not posted: the step is taken, and its page is not in the chat yet. */
import { type Alert, isOpen } from "../../domain/alert.js";
import { isUnderWay } from "../../domain/store.js";
import { isCalledOff } from "../urging.js";
import type { Telling } from "./telling.js";

const PAGE = 500;

export interface WaitingPage {
  destination: string;
  /** The end of the pause of its chat; absent when it waits for something else. */
  until?: number | undefined;
  /** An operator has the alert: it is posted when the alert needs one again. */
  isCalledOff?: boolean;
}

/** One for each chat. */
export async function waitingPages(alert: Alert, telling: Telling): Promise<WaitingPage[]> {
  const { store, clock, pauseOf, deliveryOf } = telling;
  if (!isOpen(alert.state)) return [];
  const found: WaitingPage[] = [];
  for (const { destination } of await store.placesOf(alert.id)) {
    const all = [...(await store.notices(destination, PAGE)), ...(await store.unsettledNotices(destination))];
    for (const { alertId, kind, dueAt, deliveryId } of all) {
      if (alertId !== alert.id || kind !== "escalation" || dueAt > clock.now()) continue;
      const delivery = deliveryId === undefined ? undefined : await deliveryOf(deliveryId);
      if (delivery !== undefined && !isUnderWay(delivery)) continue;
      // It is taken back in a moment, or is posted.
      if (delivery !== undefined && isCalledOff(alert)) continue;
      found.push(
        isCalledOff(alert) ? { destination, isCalledOff: true } : { destination, until: pauseOf(destination)?.until },
      );
      break;
    }
  }
  return found;
}
