/** Deletes deliveries that will not be sent. */
import { noticePurged } from "./correct-notices.js";
import { finish } from "./finish.js";
import type { Outbound } from "./sending.js";

export const DISCARDED = "an operator discarded it";

/** Resolves with those that it deleted. `reason`: for hooks, of those that were held. */
export async function discard(deliveryIds: readonly string[], reason: string, out: Outbound): Promise<string[]> {
  const { outbox } = out.store;
  const discarded: string[] = [];
  for (const id of deliveryIds) {
    const delivery = await outbox.get(id);
    if (delivery?.status === "held") await finish(delivery, "dead", reason, out);
    if (!delivery || delivery.status === "sent" || (await outbox.purge({ ids: [id] })) === 0) continue;
    discarded.push(id);
    await noticePurged(delivery, out);
  }
  return discarded;
}
