/** Which platform messages a delivery stands for now: those that it created, and what later edits of it added and removed. */
import type { Address } from "../../domain/address.js";
import type { Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

/** Edits that are looked through; more than a streamed answer makes. */
const MAX_EDITS = 1_000;

export interface Posted {
  ids: string[];
  /** How many are from before the chat moved: their ids are those of other messages there, so they cannot be changed. */
  outOfReach: number;
}

/** `at`: where they are to be changed. */
export async function postedIds(target: Delivery, at: Address, out: Outbound): Promise<Posted> {
  const edits = await out.store.outbox.list({ targetId: target.id, limit: MAX_EDITS });
  const hasOwnIds = out.adapters.get(at.platform)?.traits.idsPerChat === true;
  const former = (hasOwnIds && out.moves.former(at)) || [];
  const ids: string[] = [];
  const before: string[] = [];
  for (const { address, parts } of [target, ...edits.reverse()])
    for (const { status, operation, messageId, chatId = address.chatId } of parts) {
      if (status !== "sent" || messageId === undefined) continue;
      const known = former.includes(chatId) ? before : ids;
      if (operation === "create") known.push(messageId);
      else if (operation === "delete" && known.includes(messageId)) known.splice(known.indexOf(messageId), 1);
    }
  return { ids, outOfReach: before.length };
}
