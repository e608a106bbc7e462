/** Sends the parts of a frozen delivery, one request each, in order. Every part is marked on disk before its request is written. */
import type { Adapter, SendOperation, SendResult } from "../../domain/adapter.js";
import type { Delivery, DeliveryPart } from "../../domain/store.js";
import { mayRepeat } from "./doubt.js";
import { orExpiry } from "./expiry.js";
import { finish } from "./finish.js";
import { whereTo } from "./plan-parts.js";
import { isTold, reportSent } from "./report-sent.js";
import type { Outbound, Then } from "./sending.js";
import { takeResult } from "./take-result.js";

/** An interaction that is about to close is treated as closed. */
const CLOSING_MS = 2_000;

/** `cleared`: the part that was marked just now and may go at once. A part that is found marked was cut off by a crash. */
export async function sendParts(
  delivery: Delivery,
  adapter: Adapter,
  out: Outbound,
  cleared?: DeliveryPart,
): Promise<Then> {
  for (const part of delivery.parts) {
    if (part.status === "sent") continue;
    const now = out.clock.now();
    if (part !== cleared) {
      if (part.status === "sending") {
        const messageId = out.unsaved.get(part.nonce);
        if (messageId !== undefined) {
          cleared = await confirm(delivery, part, messageId, adapter, out);
          continue;
        }
        if (!mayRepeat(delivery, part, adapter, out))
          return finish(delivery, "held", "cut off while it was being sent: it may or may not have arrived", out);
      }
      const goAt = out.limiter.take(adapter, delivery.address, delivery.conversation, now);
      if (goAt > now) return orExpiry(delivery, goAt);
      await out.store.outbox.partSending(delivery.id, part.index);
      part.status = "sending";
      part.attempts++;
    }
    const result = await request(delivery, part, adapter, out);
    const messageId = confirmedId(result, part);
    if (result.kind !== "sent" && messageId === undefined) return takeResult(result, delivery, part, adapter, out);
    cleared = await confirm(delivery, part, messageId ?? "", adapter, out);
  }
  const crowded = reportSent(delivery, out);
  if (crowded) await crowded;
  return "next";
}

/** The platform's id once it is done. What was to be deleted and is gone: that is what was wanted. */
function confirmedId(result: SendResult, { operation, messageId }: DeliveryPart): string | undefined {
  if (result.kind === "sent") return result.messageId;
  return result.kind === "gone" && operation === "delete" ? (messageId ?? "") : undefined;
}

async function request(delivery: Delivery, part: DeliveryPart, adapter: Adapter, out: Outbound): Promise<SendResult> {
  const startedAt = out.clock.now();
  const { interaction } = delivery;
  if (interaction && interaction.expiresAt - CLOSING_MS <= startedAt)
    return { kind: "interaction-closed", error: "the time to answer it is over" };
  out.limiter.writing(delivery.conversation, startedAt);
  const result = await out.requests.send(adapter, operationOf(delivery, part));
  const now = out.clock.now();
  const { platform } = delivery.address;
  out.observe.requestAnswered?.(platform, result.kind, now - startedAt);
  const quietUntil = out.refusals.note(platform, result, now);
  if (quietUntil !== undefined) {
    out.logger.error({ platform, until: quietUntil }, "too many refused requests: sending pauses");
    await out.pauses.set(delivery.address, "bot", quietUntil, "too many refused requests in 10 minutes");
  }
  return result;
}

function operationOf(delivery: Delivery, part: DeliveryPart): SendOperation {
  const { interaction } = delivery;
  const address = whereTo(delivery.address, delivery.frozen);
  const { messageId = "" } = part;
  if (part.operation === "delete")
    return { kind: "delete", address, messageId, ...(interaction ? { interaction } : {}) };
  const encoded = part.part ?? { text: "", body: {} };
  if (part.operation === "edit")
    return { kind: "edit", address, messageId, part: encoded, ...(interaction ? { interaction } : {}) };
  return {
    kind: "create",
    address,
    part: encoded,
    nonce: part.nonce,
    ...(interaction ? { interaction: { ...interaction, first: isFirstAnswer(delivery, part) } } : {}),
    ...(delivery.visibleTo === undefined ? {} : { visibleTo: delivery.visibleTo }),
  };
}

/** The deferred answer itself, which the platform shows as pending; whatever follows is a follow-up. */
function isFirstAnswer({ operation }: Delivery, { index }: DeliveryPart): boolean {
  return operation === "send" && index === 0;
}

/** Stores the platform's id. Gives the next part when it is marked already and may go at once. */
async function confirm(
  delivery: Delivery,
  part: DeliveryPart,
  messageId: string,
  adapter: Adapter,
  out: Outbound,
): Promise<DeliveryPart | undefined> {
  const now = out.clock.now();
  const next = delivery.parts.find((other) => other.status !== "sent" && other.index > part.index);
  const nextWaits = next !== undefined && out.limiter.take(adapter, delivery.address, delivery.conversation, now) > now;
  try {
    const isOwed = isTold(delivery) && out.registry.isHeard("message_sent");
    await out.store.outbox.partSent(delivery.id, part.index, messageId, now, nextWaits, isOwed);
  } catch (error) {
    // It is posted, whatever the store says: remembered, so that the next look stores it instead of sending it again.
    out.unsaved.set(part.nonce, messageId);
    throw error;
  }
  out.unsaved.delete(part.nonce);
  part.status = "sent";
  part.messageId = messageId;
  if (!next || nextWaits) return undefined;
  next.status = "sending";
  next.attempts++;
  return next;
}
