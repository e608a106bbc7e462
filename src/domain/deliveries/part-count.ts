/** The number of parts of a delivery that were sent before it ended, for its reason. */
import type { DeliveryPart } from "../store.js";

/**
 * The text starts with a space; it is empty when no part was sent. Parts that only delete an old message count when all others are sent.
 */
export function partCountText(parts: readonly Pick<DeliveryPart, "status" | "operation">[]): string {
  const shown = parts.filter(({ operation }) => operation !== "delete");
  const counted = shown.some(({ status }) => status !== "sent") ? shown : parts;
  const sent = counted.filter(({ status }) => status === "sent").length;
  return sent > 0 ? ` (${sent} of ${counted.length} parts were sent)` : "";
}
