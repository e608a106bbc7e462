/** The time to live of a delivery. */
import type { Delivery } from "../../domain/store.js";

/** A part that may have been posted is not expired but in doubt: sending decides. */
export function isExpired({ expiresAt, parts }: Delivery, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now && !parts.some((part) => part.status === "sending");
}

export function expiryReason({ reason, parts }: Delivery): string {
  const sent = parts.filter((part) => part.status === "sent").length;
  const partly = sent > 0 ? ` (${sent} of ${parts.length} parts were sent)` : "";
  return `not sent in time${partly}${reason ? `; last: ${reason}` : ""}`;
}

/** The next look: at that time, or when it expires, if that is sooner. */
export function orExpiry({ expiresAt }: Delivery, at: number): number {
  return expiresAt === undefined ? at : Math.min(at, expiresAt);
}
