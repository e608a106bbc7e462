/** An edit that a newer one of the same message follows need not be shown: streamed answers and progress coalesce here. */
import type { Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

const LOOK_AT = 20;

export async function hasNewerChange({ seq, targetId, conversation }: Delivery, out: Outbound): Promise<boolean> {
  if (targetId === undefined) return false;
  const newest = await out.store.outbox.list({ targetId, limit: LOOK_AT });
  return newest.some(
    (other) =>
      other.seq > seq &&
      other.conversation === conversation &&
      (other.status === "waiting" || other.status === "sending"),
  );
}
