/** Finds the messages that an edit or delete addresses: the platform messages that its target consists of now. */
import {
  heldWith,
  isInDoubt,
  isUnknownToUs,
  NO_ID_TO_DELETE,
  NOT_KNOWN_TO_DELETE,
  OLD_PART_LEFT,
  TARGET_UNKNOWN,
} from "../../domain/deliveries/given-up.js";
import { type Delivery, isUnderWay } from "../../domain/store.js";
import { noteOutOfReach, OUT_OF_REACH } from "./out-of-reach.js";
import { cancelUnposted } from "./retract.js";
import { postedIds } from "./send/platform-ids.js";
import type { Outbound } from "./sending.js";

export interface Found {
  kind: "found";
  posted: readonly string[];
  /** Some of it may be posted without a known id, beside those or in their place. */
  hidden?: Delivery | undefined;
}

export type Target = Found | Ended | { kind: "later"; at: number; why: string };

export interface Ended {
  kind: "ended";
  status: "held" | "dead" | "sent" | "cancelled";
  reason: string;
}

/** The target of a delivery that changes no posted message. */
export const NEW: Found = { kind: "found", posted: [] };
/** The target is in another conversation (its chat moved) and not sent yet. */
const RETRY_DELAY_MS = 1_000;

export async function findTarget(targetId: string, delivery: Delivery, out: Outbound): Promise<Target> {
  const isDelete = delivery.operation === "delete";
  if (isDelete) await cancelUnposted(targetId, out);
  const original = await out.store.outbox.get(targetId);
  if (!original) {
    const byHand = isDelete ? ". If it is in the chat, delete it by hand" : "";
    return { kind: "ended", status: "dead", reason: `${TARGET_UNKNOWN}${byHand}` };
  }
  const { ids: posted, outOfReach, unclear, hidden } = await postedIds(original, delivery.address, out);
  const target = unclear ?? original;
  const open = [target, ...(isDelete && hidden ? [hidden] : [])].find(isUnderWay);
  if (open) {
    const why = `it waits until it is known whether ${open.id} was posted`;
    return { kind: "later", at: out.clock.now() + RETRY_DELAY_MS, why };
  }
  const hasHidden = isDelete && hidden !== undefined && posted.length > 0;
  if (target.status === "held" && !hasHidden) return { kind: "ended", status: "held", reason: heldWith(target.id) };
  if (outOfReach > 0) noteOutOfReach(delivery, out);
  if (isDelete && posted.length === 0) {
    if (outOfReach > 0) return { kind: "ended", status: "cancelled", reason: OUT_OF_REACH };
    // A person confirmed it, or a part of it whose rest was never sent, or one that came out of a backup without its parts.
    if ((target.status === "sent" && target.parts.length === 0) || target.parts.some(isUnknownToUs))
      return { kind: "ended", status: "dead", reason: NO_ID_TO_DELETE };
    if (isInDoubt(target)) return { kind: "ended", status: "dead", reason: NOT_KNOWN_TO_DELETE };
    return { kind: "ended", status: "sent", reason: "there was nothing to delete" };
  }
  // An edit of a message that was never posted posts it: the edit's own hooks decide about it.
  return { kind: "found", posted, hidden };
}

/**
 * The known parts of the message were deleted or corrected. Gives how that ends when some of the message may be there without a known id;
 * undefined: all of it is gone.
 */
export async function endOfDeletion(
  { operation, targetId = "", address }: Delivery,
  out: Outbound,
): Promise<Ended | undefined> {
  const original = await out.store.outbox.get(targetId);
  const hidden = original && (await postedIds(original, address, out)).hidden;
  if (!hidden) return undefined;
  if (operation === "edit") return { kind: "ended", status: "dead", reason: OLD_PART_LEFT };
  if (hidden.status === "held") return { kind: "ended", status: "held", reason: heldWith(hidden.id) };
  const isConfirmed = hidden.status === "sent" || hidden.parts.some(isUnknownToUs);
  const reason = isConfirmed ? NO_ID_TO_DELETE : NOT_KNOWN_TO_DELETE;
  return { kind: "ended", status: "dead", reason };
}
