/** The time to live of a delivery. */
import { partCountText } from "../../domain/part-count.js";
import type { Delivery } from "../../domain/store.js";
import { formatDuration } from "../../lib/duration.js";

/** A part that may have been posted is not expired but in doubt: sending decides. */
export function isExpired({ expiresAt, parts }: Delivery, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now && !parts.some((part) => part.status === "sending");
}

/** `ttl`: of the configuration; some senders give a delivery less time. */
export function expiryReason({ reason, parts, expiresAt, createdAt }: Delivery, ttl: number): string {
  const limit = (expiresAt ?? createdAt) - createdAt;
  const allowed = limit === ttl ? `gateway.ttl is ${formatDuration(ttl)}` : `the limit is ${formatDuration(limit)}`;
  return `not sent in time (${allowed})${partCountText(parts)}${reason ? `; last: ${reason}` : ""}`;
}

/** The next look: at that time, or when it expires, if that is sooner. */
export function orExpiry({ expiresAt }: Delivery, at: number): number {
  return expiresAt === undefined ? at : Math.min(at, expiresAt);
}
