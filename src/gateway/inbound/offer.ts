/** Offers the message to the hooks at inbound_claim: the first that handles it owns it. */
import { formatAddress } from "../../domain/address.js";
import type { InboundMessage } from "../../domain/message.js";
import type { NewDelivery } from "../../domain/store.js";
import { immutable } from "../../hooks/isolate.js";
import type { Verdict } from "../access.js";
import { forward } from "./forward.js";
import { type Handling, settled } from "./handling.js";
import type { LaneRow } from "./lanes.js";
import { fireOptions, type Inbound } from "./receiving.js";
import { reply } from "./reply.js";

/** Undefined when nobody claimed it, or when it was put off too often: then it goes on to the default route. */
export async function offer(
  row: LaneRow,
  message: InboundMessage,
  verdict: Verdict,
  inbound: Inbound,
): Promise<Handling | undefined> {
  const claim = await inbound.registry.fireClaiming(
    "inbound_claim",
    { message },
    undefined,
    fireOptions(row, "inbound_claim", message.messageId, verdict),
  );
  if (!claim.handled) return undefined;
  if (claim.deferMs !== undefined) {
    if (row.deferrals < inbound.config.max_deferrals) {
      // "One moment, please": said once, though the message is offered again and again.
      if (claim.reply !== undefined && row.deferrals === 0)
        await sayNow(reply(row, message, claim.reply, inbound, "p"), inbound);
      return { kind: "deferred", delayMs: Math.min(claim.deferMs, inbound.config.max_deferral) };
    }
    inbound.logger.warn(
      { row: row.id, by: claim.claimedBy, deferrals: row.deferrals },
      "put off too often: goes on without its hook",
    );
    return undefined;
  }
  const deliveries: NewDelivery[] = [];
  // A copy of what the hook returned: ours, and what hooks of the outbound flow are shown as it is.
  if (claim.reply !== undefined) deliveries.push(reply(row, message, immutable(claim.reply), inbound));
  if (claim.routeTo) {
    const copy = await forward(row, message, claim.routeTo, inbound);
    if (copy) deliveries.push(copy);
  }
  return settled("claimed", deliveries, claim.claimedBy);
}

/** Outside the settling transaction; its id is the same when it is done again, so it is posted once. */
async function sayNow(delivery: NewDelivery, { store, clock, lookOutbox }: Inbound): Promise<void> {
  await store.outbox.enqueue([delivery], clock.now());
  lookOutbox(formatAddress(delivery.address));
}
