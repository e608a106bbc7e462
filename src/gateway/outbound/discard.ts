/** Deletes deliveries that will not be sent, and dead messages of the inbox. */
import { noticeNeverHandled, noticePurged } from "./answer-notices.js";
import { finish } from "./finish.js";
import type { Outbound } from "./sending.js";

export const DISCARDED = "an operator discarded it";

/** Resolves with those that it deleted. `ids`: of deliveries, and `m5` for a message. `reason`: for hooks, of deliveries that were held. */
export async function discard(ids: readonly string[], reason: string, out: Outbound): Promise<string[]> {
  const discarded: string[] = [];
  for (const id of ids) {
    const [, rowId] = /^m(\d+)$/.exec(id) ?? [];
    const isGone = rowId === undefined ? discardDelivery(id, reason, out) : discardMessage(Number(rowId), out);
    if (await isGone) discarded.push(id);
  }
  return discarded;
}

async function discardDelivery(id: string, reason: string, out: Outbound): Promise<boolean> {
  const { outbox } = out.store;
  const delivery = await outbox.get(id);
  if (delivery?.status === "held") await finish(delivery, "dead", reason, out);
  if (!delivery || delivery.status === "sent" || (await outbox.purge({ ids: [id] })) === 0) return false;
  await noticePurged(delivery, out);
  return true;
}

async function discardMessage(rowId: number, out: Outbound): Promise<boolean> {
  if ((await out.store.inbox.discard([rowId])).length === 0) return false;
  await noticeNeverHandled(`m${rowId}`, out);
  return true;
}
