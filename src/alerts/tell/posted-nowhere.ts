/** An alert that is in no chat: `/alerts` and `/alerts show` mark it. */
import { type Alert, type AlertCard, isOpen } from "../../domain/alerts/alert.js";
import { isInDoubt } from "../../domain/deliveries/given-up.js";
import { isLost } from "./pages/undelivered.js";
import type { Telling } from "./telling.js";

/** Each chat that should show the alert did not take its card, and none has taken a reminder or escalation. */
export async function isPostedNowhere({ id, state }: Alert, telling: Telling): Promise<boolean> {
  if (!isOpen(state)) return false;
  const places = await telling.store.placesOf(id);
  if (!places.some(({ cardId }) => cardId !== undefined)) return false;
  for (const { isWaiting, cardId, destination } of places) {
    if (isWaiting) return false;
    const card = cardId === undefined ? undefined : await telling.store.card(cardId);
    if (card && !(await isLostCard(card, telling))) return false;
    for (const { deliveryId = "" } of await telling.store.postedWith(id, destination))
      if ((await telling.deliveryOf(deliveryId))?.status === "sent") return false;
  }
  return true;
}

async function isLostCard({ failedAt, deliveryId }: AlertCard, telling: Telling): Promise<boolean> {
  if (failedAt === undefined) return false;
  const post = await telling.deliveryOf(deliveryId);
  return post !== undefined && isLost(post) && !isInDoubt(post) && !(await telling.wasPosted(deliveryId));
}
