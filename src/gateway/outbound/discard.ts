/** Deletes deliveries that will not be sent, and dead messages of the inbox. */
import { maySeeIt } from "../../domain/deliveries/given-up.js";
import type { Delivery } from "../../domain/store.js";
import { finish } from "./finish.js";
import { noticeNeverHandled, noticePurged } from "./notices/answer-notices.js";
import { changesHeldWith } from "./release.js";
import { postedIds } from "./send/platform-ids.js";
import type { Outbound } from "./sending.js";

export const DISCARDED = "an operator discarded it";

/**
 * Resolves with those that it deleted, held changes of them included. `ids`: of deliveries, and `m5` for a message. `reason`: for hooks,
 * of deliveries that were held.
 */
export async function discard(ids: readonly string[], reason: string, out: Outbound): Promise<string[]> {
  const discarded: string[] = [];
  for (const id of ids) {
    const [, rowId] = /^m(\d+)$/.exec(id) ?? [];
    if (rowId === undefined) discarded.push(...(await discardDelivery(id, reason, out)));
    else if (await discardMessage(Number(rowId), out)) discarded.push(id);
  }
  return discarded;
}

async function discardDelivery(id: string, reason: string, out: Outbound): Promise<string[]> {
  const { outbox } = out.store;
  const delivery = await outbox.get(id);
  const originalId = delivery && (await mayHavePosted(delivery, out));
  const changes = await changesHeldWith(id, out);
  if (delivery?.status === "held") await finish(delivery, "dead", reason, out);
  if (!delivery || delivery.status === "sent" || (await outbox.purge({ ids: [id] })) === 0) return [];
  await noticePurged(delivery, out);
  // Nothing can follow a message that is not known: later changes of it are not passed on.
  const isGoneToo = originalId !== undefined && (await outbox.purge({ ids: [originalId] })) > 0;
  const discarded = isGoneToo ? [id, originalId] : [id];
  for (const change of changes) discarded.push(...(await discardDelivery(change.id, reason, out)));
  return discarded;
}

/** The id of the message that no other delivery posted, while this correction of it may have. */
async function mayHavePosted(delivery: Delivery, out: Outbound): Promise<string | undefined> {
  const { id, operation, targetId = "", address } = delivery;
  if (operation !== "edit" || !maySeeIt(delivery)) return undefined;
  const original = await out.store.outbox.get(targetId);
  return original && (await postedIds(original, address, out)).unclear?.id === id ? targetId : undefined;
}

async function discardMessage(rowId: number, out: Outbound): Promise<boolean> {
  if ((await out.store.inbox.discard([rowId])).length === 0) return false;
  await noticeNeverHandled(`m${rowId}`, out);
  return true;
}
