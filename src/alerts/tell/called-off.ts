/**
 * Reminders and escalations that were not sent when an operator acknowledges or snoozes their alert, when a rule mutes it or when it
 * ends. They are taken back from the outbox; escalations wait until the alert needs an operator again, because their step is not
 * taken twice.
 */
import { isOpen, type Notice } from "../../domain/alerts/alert.js";
import type { Delivery } from "../../domain/store.js";
import { isOfWoken, wasOfWoken } from "../steps/breach.js";
import { isCalledOff } from "../urging.js";
import type { Telling } from "./telling.js";

const WITHDRAWN = "its alerts were acknowledged, snoozed or muted, or they ended";

/** Why a message is enqueued again although it could still be sent. */
export const BEHIND = "an older message about alerts was not sent in time, and goes before it";

/** A page of a paused chat shows when it was due; mentions of a long pause are made when it is about to end. */
export const PAUSED = "its chat is paused: it is written again, with the time when it was due";

/** A page that a stop of the gateway left shows when it was due, too. */
export const STOPPED = "the gateway was stopped before it was sent: it is written again, with the time when it was due";

/** A page mentions no one who was notified elsewhere since it was enqueued. */
export const PAGED = "its people were notified elsewhere, or were not: it is written again with other mentions";

/** The message names the person who has the alert. */
const LAPSED = "the acknowledgement that it mentions has ended: it is written again without it";

const ENQUEUED_ANEW: ReadonlySet<string | undefined> = new Set([WITHDRAWN, LAPSED, BEHIND, PAUSED, STOPPED, PAGED]);

/** Takes back a message that none of its alerts needs; true also when a crash came right after that. */
export async function withdrawIfNotNeeded(
  notices: readonly Notice[],
  delivery: Delivery | undefined,
  telling: Telling,
): Promise<boolean> {
  if (delivery?.status === "cancelled") return ENQUEUED_ANEW.has(delivery.reason);
  if (delivery?.status !== "waiting" && delivery?.status !== "sending") return false;
  for (const notice of notices) {
    const alert = await telling.store.get(notice.alertId);
    if (alert && wasOfWoken(notice, alert) && delivery.createdAt < alert.since)
      return telling.withdraw(delivery.id, LAPSED);
  }
  for (const notice of notices) {
    const alert = await telling.store.get(notice.alertId);
    if (alert && isOfWoken(notice, alert)) return false;
    if (alert && isOpen(alert.state) && !isCalledOff(alert)) return false;
  }
  return telling.withdraw(delivery.id, WITHDRAWN);
}
