/** A refusal whose person cannot be reached privately is told where they asked, in words that give nothing away. */
import { createHash } from "node:crypto";
import { formatAddress } from "../../domain/address.js";
import type { Delivery, NewDelivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

/** Whoever is refused again and again must not fill the group, nor use up what the platform lets us send there. */
const ONCE_IN_MS = 10 * 60_000;

/** A delivery of its own, through its own hooks. Its id makes it the only one for this person and place in its ten minutes. */
export async function sayOpenly(
  { openly, cause, visibleTo, skipsHooks, createdAt }: Delivery,
  out: Outbound,
): Promise<void> {
  if (!openly || visibleTo === undefined) return;
  const { address, message } = openly;
  const now = out.clock.now();
  const word: NewDelivery = {
    id: onceId(`${formatAddress(address)} ${visibleTo} ${Math.floor(createdAt / ONCE_IN_MS)}`),
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

function onceId(what: string): string {
  return `d_o${createHash("sha256").update(what).digest("hex").slice(0, 20)}`;
}
