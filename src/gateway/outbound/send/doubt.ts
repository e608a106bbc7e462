/**
 * A part that may or may not have been posted: whether the same request can be written again without showing twice, and whether it may be
 * posted another way.
 */
import type { Adapter } from "../../../domain/chat/adapter.js";
import { IN_DOUBT, isUnanswered, mayBeShown } from "../../../domain/deliveries/given-up.js";
import type { Delivery, DeliveryPart } from "../../../domain/store.js";
import { finish } from "../finish.js";
import type { Outbound, Then } from "../sending.js";

/** Holds a delivery whose part is not repeated any more: an operator decides. */
export async function hold(delivery: Delivery, part: DeliveryPart, why: string, out: Outbound): Promise<Then> {
  // Operators and commands know a part in doubt by this mark.
  if (part.status !== "sending") await out.store.outbox.partSending(delivery.id, part.index);
  return finish(delivery, "held", `${IN_DOUBT}: ${why}`, out);
}

/** The outcome of the last request for this delivery. */
export function lastDoubtOf({ reason = "" }: Delivery): string {
  const start = `${IN_DOUBT}: `;
  return reason.startsWith(start) ? reason.slice(start.length) : "no answer came";
}

/** True when repeating is harmless, or the policy accepts that it may show twice. */
export function mayRepeat(delivery: Delivery, part: DeliveryPart, adapter: Adapter, out: Outbound): boolean {
  return out.config.ambiguous === "resend" || isIdempotent(delivery, part, adapter, out);
}

/** True when a crash during the request would leave it open whether the part was posted. */
export function leavesDoubt(delivery: Delivery, part: DeliveryPart, adapter: Adapter, out: Outbound): boolean {
  return !isIdempotent(delivery, part, adapter, out);
}

/** True when it must not be posted another way: it would show beside the message that an earlier request may have posted or changed. */
export function keepsItsWay(part: DeliveryPart, out: Outbound): boolean {
  return out.config.ambiguous !== "resend" && mayBeShown(part);
}

/** The deferred answer itself, which the platform shows as pending; every later part is a follow-up. */
export function isFirstAnswer({ operation, interaction }: Delivery, { index }: DeliveryPart): boolean {
  return operation === "send" && index === 0 && interaction?.isFollowUp !== true;
}

function isIdempotent(delivery: Delivery, part: DeliveryPart, { traits }: Adapter, out: Outbound): boolean {
  if (part.operation !== "create") return true;
  // The first answer to an interaction replaces the pending one; private follow-ups have no nonce, public ones go to the chat.
  if (delivery.interaction && part.index === 0 && !delivery.interaction.isFollowUp)
    return isFirstAnswer(delivery, part);
  if (delivery.interaction?.isPrivate) return false;
  if (!traits.idempotentCreate || traits.isExceptionIn?.(delivery.address.chatId)) return false;
  if (traits.idempotentForMs === undefined) return true;
  if (out.ofUnknownAge.has(delivery.id)) return false;
  if (!isUnanswered(part)) return true;
  return out.clock.now() - delivery.createdAt - (part.sentAfterMs ?? 0) < traits.idempotentForMs;
}
