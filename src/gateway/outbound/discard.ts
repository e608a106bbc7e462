/** An operator discards deliveries that will not be sent. */
import { finish } from "./finish.js";
import type { Outbound } from "./sending.js";

const DISCARDED = "an operator discarded it";

export async function discard(deliveryIds: readonly string[], out: Outbound): Promise<number> {
  const { outbox } = out.store;
  let discarded = 0;
  for (const id of deliveryIds) {
    const delivery = await outbox.get(id);
    if (delivery?.status === "held") await finish(delivery, "dead", DISCARDED, out);
    if (delivery && delivery.status !== "sent") discarded += await outbox.purge({ ids: [id] });
  }
  return discarded;
}
