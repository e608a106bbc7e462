/** Writes the decision into the row (the final message, its requests, the tokens of its buttons), then sends. */
import type { Adapter } from "../../domain/adapter.js";
import type { OutboundMessage } from "../../domain/message.js";
import { queueOf } from "../../domain/outbox-queue.js";
import type { Delivery, DeliveryPart } from "../../domain/store.js";
import { errorMessage } from "../../lib/errors.js";
import { attachTokens } from "./attach-tokens.js";
import { orExpiry } from "./expiry.js";
import { finish } from "./finish.js";
import { planParts } from "./plan-parts.js";
import { sendParts } from "./send-parts.js";
import type { Outbound, Then } from "./sending.js";

export async function freezeAndSend(
  delivery: Delivery,
  decided: OutboundMessage | undefined,
  posted: readonly string[],
  adapter: Adapter,
  out: Outbound,
): Promise<Then> {
  const { message, tokens } = decided ? attachTokens(delivery, decided, out) : { message: undefined, tokens: [] };
  let parts: DeliveryPart[];
  try {
    parts = planParts(delivery, message, posted, adapter);
  } catch (error) {
    return finish(delivery, "dead", `it cannot be encoded: ${errorMessage(error)}`, out);
  }
  const first = parts[0] as DeliveryPart;
  // Only a part that is written to the wire at once is marked so: one that waits for the rate limit is in no doubt after a crash.
  const nowMs = out.clock.monotonic();
  const ticket = out.limiter.take(adapter, delivery.address, queueOf(delivery), nowMs, delivery.isApart);
  const goes = ticket.at <= nowMs;
  if (goes) {
    first.status = "sending";
    first.attempts = 1;
  }
  await out.store.outbox.freeze(delivery.id, message, parts, tokens);
  // The flow's own copy of the row.
  delivery.status = "sending";
  delivery.parts = parts;
  if (message) delivery.frozen = message;
  return goes
    ? await sendParts(delivery, adapter, out, ticket)
    : orExpiry(delivery, out.clock.now() + ticket.at - nowMs);
}
