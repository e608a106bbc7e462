/**
 * The platform messages that a delivery consists of now: those that it created, with those that later edits of it added, and without those
 * that they removed.
 */
import type { Address } from "../../../domain/chat/address.js";
import { isUnknownToUs, mayBePosted, mayHaveHidden, maySeeIt } from "../../../domain/deliveries/given-up.js";
import { type Delivery, isUnderWay } from "../../../domain/store.js";
import type { Outbound } from "../sending.js";

/** Edits that are looked through; more than a streamed answer makes. */
const MAX_EDITS = 1_000;

export interface Posted {
  ids: string[];
  /** How many are from before the chat moved: their ids are those of other messages there, so they cannot be changed. */
  outOfReach: number;
  /** When no id is known: the newest edit that may have posted it. */
  unclear: Delivery | undefined;
  /** The newest of it that may have posted a message without a known id, beside those. */
  hidden: Delivery | undefined;
}

/** `at`: where they are to be changed. */
export async function postedIds(target: Delivery, at: Address, out: Outbound): Promise<Posted> {
  const edits = await out.store.outbox.list({ targetId: target.id, limit: MAX_EDITS });
  const hasOwnIds = out.adapters.get(at.platform)?.traits.idsPerChat === true;
  const former = (hasOwnIds && out.moves.former(at)) || [];
  const ids: string[] = [];
  const before: string[] = [];
  for (const { address, parts } of [target, ...edits.toReversed()])
    for (const { status, operation, messageId, chatId = address.chatId } of parts) {
      if (status !== "sent" || messageId === undefined) continue;
      const known = former.includes(chatId) ? before : ids;
      if (operation === "create") known.push(messageId);
      else if (operation === "delete" && known.includes(messageId)) known.splice(known.indexOf(messageId), 1);
    }
  const unclear = ids.length > 0 ? undefined : edits.find(isUnclear);
  return { ids, outOfReach: before.length, unclear, hidden: [...edits, target].find(mayHaveHidden) };
}

/** True when the edit posted a message, or may have, and the platform never reported its id. */
function isUnclear(edit: Delivery): boolean {
  const { operation, status, parts } = edit;
  if (operation !== "edit" || parts.some((part) => part.operation === "edit")) return false;
  if (isUnderWay(edit)) return parts.some(mayBePosted);
  if (parts.some(isUnknownToUs)) return true;
  return status === "sent" ? parts.length === 0 : maySeeIt(edit);
}
