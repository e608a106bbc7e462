/** Puts a conversation aside until its platform is online: no polling, only a look when its first delivery expires. */
import { queueOf } from "../../domain/outbox-queue.js";
import type { Delivery } from "../../domain/store.js";
import { whenExpired } from "./expiry.js";
import type { Outbound, Then } from "./sending.js";

export function park(delivery: Delivery, out: Outbound): Then {
  out.parking.park(delivery.address.platform, queueOf(delivery));
  return whenExpired(delivery, out.clock.now());
}

/** The token was changed to another bot's: this chat is not ours to write to. */
export function isOtherAccount({ address: { platform, botId } }: Delivery, out: Outbound): boolean {
  const current = out.adapters.botId(platform);
  return botId !== "" && current !== undefined && current !== botId;
}
