/**
 * Notifies hooks of ends of deliveries that an earlier process left as pending work, one delivery at a time and under the same dispatch
 * ids. The journal has what that process did, up to its last moments.
 */
import type { NewPending, PendingItem } from "../../../domain/pending.js";
import { createGivenUpList } from "../../../hooks/given-up.js";
import { MAX_ASKED } from "../decide.js";
import { dispatchIdOf } from "../hook-target.js";
import type { Outbound } from "../sending.js";
import { reportFailed } from "./report-failed.js";
import { fireSent } from "./report-sent.js";

/** Resolves with the work that replaces work about several deliveries. */
export async function notifyPending(item: PendingItem, out: Outbound): Promise<NewPending[] | undefined> {
  const { deliveries } = item.payload as { deliveries: string[] };
  if (out.background.isCrowded) await out.background.oneDone();
  const [only, ...others] = deliveries;
  // Each counts its own attempts: a delivery whose hooks end the process keeps no other from being reported.
  if (others.length > 0)
    return deliveries.map((id) => ({ ...item, id: `${item.id}:${id}`, key: id, payload: { deliveries: [id] } }));
  if (only !== undefined) await notifyEnd(only, item, out);
  return undefined;
}

async function notifyEnd(
  deliveryId: string,
  { attempt, stops = 0 }: Pick<PendingItem, "attempt" | "stops">,
  out: Outbound,
): Promise<void> {
  const { outbox, journal } = out.store;
  const delivery = await outbox.get(deliveryId);
  const isEnded = delivery?.status === "sent" || delivery?.status === "dead" || delivery?.status === "cancelled";
  if (!delivery || !isEnded) return;
  const point = delivery.status === "sent" ? "message_sent" : "delivery_failed";
  const recorded = await journal.get(dispatchIdOf(delivery, point));
  // An operator may have released it since: then its next end is work of its own.
  if ((recorded !== undefined && recorded.outcome !== "interrupted") || outbox.isEndPending(deliveryId)) return;
  if (attempt - stops > MAX_ASKED + 1) {
    out.logger.error(
      { delivery: deliveryId, point, attempt },
      "the gateway ended each time that hooks were notified of the end of a delivery: they are not notified of it again",
    );
    const { keyValue } = out.store;
    await createGivenUpList({ keyValue, logger: out.logger }).note({
      point,
      dispatchId: dispatchIdOf(delivery, point),
      crashes: attempt - stops - 1,
      at: out.clock.now(),
      isSilent: true,
    });
    return;
  }
  await new Promise<void>((ended) => {
    if (delivery.status === "sent") fireSent(delivery, out, attempt, ended);
    else reportFailed(delivery, delivery.reason ?? "", out, attempt, ended);
  });
}
