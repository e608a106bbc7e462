/** How a delivery ended that did not plainly arrive. The one place that reads the words of its reason. */
import type { Delivery, DeliveryPart } from "./store.js";

/** Part of the reason of a delivery that would have expired before its next try: it is given up at once, as it would be when it expires. */
export const GIVEN_UP = "given up before the next try";
/** Part of the reason of a delivery that was sent and got no answer. */
export const IN_DOUBT = "may or may not have arrived";

/** A request for it was written, and no answer has said what became of it. */
export const mayBePosted = (part: DeliveryPart): boolean => part.status === "sending" || mayHaveArrived(part);

/** An earlier request for a new message got no answer: whatever the last one got, that one may have been posted. */
export const mayHaveArrived = ({ status, operation, mayHaveArrived: isMarked }: DeliveryPart): boolean =>
  status !== "sent" && operation === "create" && isMarked === true;

type Ended = Pick<Delivery, "status" | "reason" | "expiresAt" | "settledAt" | "isCourtesy">;

/** Nobody knows whether it arrived. A courtesy is not held then, but cancelled. */
export function isInDoubt({ status, reason = "", isCourtesy = false }: Ended): boolean {
  const isGivenUp = status === "dead" || status === "held" || (isCourtesy && status === "cancelled");
  return isGivenUp && reason.includes(IN_DOUBT);
}

/** It waited until its words were old, or would have. */
export function hasExpired({ status, expiresAt, settledAt = 0, reason = "" }: Ended): boolean {
  return status === "dead" && expiresAt !== undefined && (expiresAt <= settledAt || reason.includes(GIVEN_UP));
}
