/** A page that an operator releases or retries from the outbox: it is written again, with the changes of its alert and its people since. */
import type { OutboxStore } from "../../domain/store.js";
import type { Telling } from "./telling.js";

const MAX_EDITS = 200;

/** False for a message that is no page, or was posted in part: its words stay. */
export async function sendAnew(
  deliveryId: string,
  outbox: Pick<OutboxStore, "list">,
  telling: Telling,
): Promise<boolean> {
  const { store, wakePlace, deliveryOf, discard } = telling;
  const delivery = await deliveryOf(deliveryId);
  if (delivery?.status !== "held" && delivery?.status !== "dead") return false;
  if (delivery.parts.some(({ status }) => status === "sent")) return false;
  const destinations = await store.reviveNotices(deliveryId);
  if (destinations.length === 0) return false;
  // Held with it.
  const edits = await outbox.list({ status: "held", targetId: deliveryId, limit: MAX_EDITS });
  await discard([deliveryId, ...edits.map(({ id }) => id)]);
  for (const destination of destinations) wakePlace(destination);
  return true;
}
