/** How much of a delivery was sent before it ended, for its reason. */
import type { DeliveryPart } from "../store.js";

/** With a space before it; empty when no part was sent. What only takes an old message away counts when all else is sent. */
export function partCountText(parts: readonly Pick<DeliveryPart, "status" | "operation">[]): string {
  const shown = parts.filter(({ operation }) => operation !== "delete");
  const counted = shown.some(({ status }) => status !== "sent") ? shown : parts;
  const sent = counted.filter(({ status }) => status === "sent").length;
  return sent > 0 ? ` (${sent} of ${counted.length} parts were sent)` : "";
}
