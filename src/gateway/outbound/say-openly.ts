/** A refusal whose person cannot be reached privately is told where they asked, in words that give nothing away. */
import { formatAddress } from "../../domain/address.js";
import { openlyId } from "../../domain/openly.js";
import type { Delivery, NewDelivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

/** A delivery of its own, through its own hooks. Its id makes it the only one for this person and place in its ten minutes. */
export async function sayOpenly(delivery: Delivery, out: Outbound): Promise<void> {
  const { openly, cause, skipsHooks } = delivery;
  const id = openlyId(delivery);
  if (!openly || id === undefined) return;
  const { address, message } = openly;
  const now = out.clock.now();
  const word: NewDelivery = {
    id,
    address,
    operation: "send",
    message,
    cause,
    expiresAt: now + out.config.ttl,
    isCourtesy: true,
    skipsHooks: skipsHooks === true,
  };
  await out.store.outbox.enqueue([word], now);
  out.look(formatAddress(address));
}
