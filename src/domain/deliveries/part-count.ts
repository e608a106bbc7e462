/** How much of a delivery was sent before it ended, for its reason. */
import type { DeliveryPart } from "../store.js";

/** With a space before it; empty when no part was sent. */
export function partCountText(parts: readonly Pick<DeliveryPart, "status">[]): string {
  const sent = parts.filter(({ status }) => status === "sent").length;
  return sent > 0 ? ` (${sent} of ${parts.length} parts were sent)` : "";
}
