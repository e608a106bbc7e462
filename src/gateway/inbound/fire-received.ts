/** message_received: every message that an adapter delivered, allowed or not, once. */
import type { InboundMessage } from "../../domain/message.js";
import type { Verdict } from "../access.js";
import type { LaneRow } from "../conversation.js";
import { fireOptions, type Inbound } from "./receiving.js";

const DONE = Promise.resolve();

/** Rejects when a fail-closed hook failed; the message is then tried again, and this is fired again before it goes on. */
export function fireReceived(row: LaneRow, message: InboundMessage, verdict: Verdict, inbound: Inbound): Promise<void> {
  // A message that is offered again, or tried again in this process, was received before.
  if (row.deferrals > 0 || row.isReceived) return DONE;
  row.isReceived = true;
  const received = inbound.registry.fireVoid(
    "message_received",
    verdict.reason === undefined
      ? { message, access: verdict.access }
      : { message, access: verdict.access, reason: verdict.reason },
    undefined,
    fireOptions(row, "message_received", message.messageId, verdict),
  );
  if (!inbound.registry.isHeard("message_received")) return received;
  return received.catch((error: unknown) => {
    row.isReceived = false;
    throw error;
  });
}
