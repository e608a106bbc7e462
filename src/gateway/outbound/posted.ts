/** Which platform messages a delivery stands for now: those that it created, and what later edits of it added and removed. */
import type { Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

/** Edits that are looked through; more than a streamed answer makes. */
const MAX_EDITS = 1_000;

export async function postedIds(target: Delivery, out: Outbound): Promise<string[]> {
  const edits = await out.store.outbox.list({ targetId: target.id, limit: MAX_EDITS });
  const ids: string[] = [];
  for (const { parts } of [target, ...edits.reverse()])
    for (const { status, operation, messageId } of parts) {
      if (status !== "sent" || messageId === undefined) continue;
      if (operation === "create") ids.push(messageId);
      else if (operation === "delete" && ids.includes(messageId)) ids.splice(ids.indexOf(messageId), 1);
    }
  return ids;
}
