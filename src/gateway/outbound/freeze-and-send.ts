/** Writes the decision into the row (the final message, its requests, the tokens of its buttons), then sends. */
import type { Adapter } from "../../domain/adapter.js";
import type { OutboundMessage } from "../../domain/message.js";
import { queueOf } from "../../domain/outbox-queue.js";
import type { Delivery, DeliveryPart } from "../../domain/store.js";
import { errorMessage } from "../../lib/errors.js";
import { attachTokens } from "./attach-tokens.js";
import { leavesDoubt } from "./doubt.js";
import { orExpiry, whenExpired } from "./expiry.js";
import { finish } from "./finish.js";
import { planParts } from "./plan-parts.js";
import { urgencyOf } from "./rate-limit.js";
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
  const queue = queueOf(delivery);
  const isGated = leavesDoubt(delivery, first, adapter, out);
  const isHeldBack = isGated && !out.gate.enter(delivery, queue);
  const ticket = isHeldBack
    ? undefined
    : out.limiter.take(adapter, delivery.address, queue, nowMs, urgencyOf(delivery));
  const goes = ticket !== undefined && ticket.at <= nowMs;
  if (goes) {
    first.status = "sending";
    first.attempts = 1;
  } else if (isGated && !isHeldBack) out.gate.leave();
  try {
    await out.store.outbox.freeze(delivery.id, message, parts, tokens);
  } catch (error) {
    if (goes && isGated) out.gate.leave();
    throw error;
  }
  // The flow's own copy of the row.
  delivery.status = "sending";
  delivery.parts = parts;
  if (message) delivery.frozen = message;
  if (goes) return await sendParts(delivery, adapter, out, ticket, isGated);
  return ticket ? orExpiry(delivery, out.clock.now() + ticket.at - nowMs) : whenExpired(delivery, out.clock.now());
}
