/** The time to live of a delivery. */
import { GIVEN_UP, mayBePosted, saysInDoubt } from "../../domain/deliveries/given-up.js";
import { partCountText } from "../../domain/deliveries/part-count.js";
import type { Delivery } from "../../domain/store.js";
import { formatDuration } from "../../lib/time/duration.js";

/** A part that may have been posted is not expired but in doubt: sending decides. */
export function isExpired({ expiresAt, parts }: Delivery, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now && !parts.some(mayBePosted);
}

/** `ttl`: from the configuration; some senders give a delivery less time. */
export function expiryReason(delivery: Delivery, ttl: number): string {
  const { reason, parts } = delivery;
  const late = `not sent in time (${limitText(delivery, ttl)})${partCountText(parts)}`;
  if (!reason) return late;
  return saysInDoubt(reason) ? `${reason}; ${late}` : `${late}; last: ${reason}`;
}

/** A try at that time would never come: the delivery ends before it. */
export function endsBefore({ expiresAt }: Delivery, at: number): boolean {
  return expiresAt !== undefined && expiresAt <= at;
}

/** Why it is given up now, and not when it expires. `error`: why it has to be tried again at that time. */
export function givenUpReason(delivery: Delivery, error: string, at: number, now: number, ttl: number): string {
  const { expiresAt = at, parts } = delivery;
  const left = formatDuration(Math.max(0, expiresAt - now));
  return `${error}${partCountText(parts)}; ${GIVEN_UP}, because that would have been ${formatDuration(at - now)} later, and the message could be sent for ${left} more only (${limitText(delivery, ttl)})`;
}

function limitText({ expiresAt, createdAt, round }: Delivery, ttl: number): string {
  const limit = (expiresAt ?? createdAt) - createdAt;
  // A correction by its author is a new round as well, and leaves the limit as it is.
  if (round > 1 && limit > ttl)
    return `gateway.ttl is ${formatDuration(ttl)}, counted from when an operator sent it again`;
  return limit === ttl ? `gateway.ttl is ${formatDuration(ttl)}` : `the limit is ${formatDuration(limit)}`;
}

/** A delivery that waits to be woken is processed when it expires. An expired one is kept by a part in doubt, and is only woken. */
export function whenExpired({ expiresAt }: Delivery, now: number): number | undefined {
  return expiresAt !== undefined && expiresAt > now ? expiresAt : undefined;
}

/** The next pass: at that time, or when the delivery expires, if that is sooner. A delivery in doubt does not expire. */
export function orExpiry({ expiresAt, parts }: Delivery, at: number): number {
  return expiresAt === undefined || parts.some(mayBePosted) ? at : Math.min(at, expiresAt);
}
