/**
 * Makes the content of the row from the decision of the hooks (the final message, its requests, the tokens of its buttons), stores it, then
 * sends.
 */
import type { Adapter } from "../../../domain/chat/adapter.js";
import { type Button, isSameFile, type OutboundMessage } from "../../../domain/chat/message.js";
import { isUnknownToUs, mayBePosted, sentAfter } from "../../../domain/deliveries/given-up.js";
import { queueOf } from "../../../domain/deliveries/outbox-queue.js";
import { type ActionToken, type Decided, type Delivery, type DeliveryPart, isUnderWay } from "../../../domain/store.js";
import { errorMessage } from "../../../lib/errors.js";
import { orExpiry, whenExpired } from "../expiry.js";
import { finish } from "../finish.js";
import type { Outbound, Then } from "../sending.js";
import { voidSentCode } from "../void-code.js";
import { leavesDoubt } from "./doubt.js";
import { deletionOfHidden, planParts } from "./plan-parts.js";
import { type Ticket, urgencyOf } from "./rate-limit.js";
import { sendParts } from "./send-parts.js";

/** A decision that is not stored yet, and whether its first part goes at once. */
export interface Prepared extends Decided {
  parts: DeliveryPart[];
  /** Absent: the gate holds it back. */
  ticket: Ticket | undefined;
  goes: boolean;
  /** The delivery has entered the gate. */
  isInGate: boolean;
}

export async function freezeAndSend(
  delivery: Delivery,
  decided: OutboundMessage | undefined,
  posted: readonly string[],
  adapter: Adapter,
  out: Outbound,
  hidden?: Delivery,
): Promise<Then> {
  const prepared = prepare(delivery, decided, posted, adapter, out);
  if (typeof prepared === "string") return finish(delivery, "dead", prepared, out);
  if (hidden && isLeftBy(delivery, hidden, prepared, posted))
    prepared.parts.push(deletionOfHidden(prepared.parts.length));
  try {
    await out.store.outbox.freeze(delivery.id, prepared.message, prepared.parts, prepared.tokens, delivery.round);
  } catch (error) {
    giveBack(prepared, out);
    throw error;
  }
  return await sendPrepared(delivery, prepared, adapter, out);
}

/**
 * True when a deletion or an author's correction leaves content there that the message does not have any more, and that only a person can
 * take away.
 */
function isLeftBy(
  { operation, mirrors }: Delivery,
  hidden: Delivery,
  { message, parts }: Prepared,
  posted: readonly string[],
): boolean {
  if (operation === "delete") return posted.length > 0;
  if (mirrors === undefined || hidden.status === "held" || isUnderWay(hidden)) return false;
  const isShown = ({ part }: DeliveryPart) => parts.some((now) => now.part?.text === part?.text);
  const files = (hidden.frozen ?? hidden.message)?.attachments ?? [];
  const hasAll = files.every((file) => message?.attachments?.some((now) => isSameFile(now, file)));
  return (
    hidden.parts.length === 0 ||
    hidden.parts
      .filter((part) => isUnknownToUs(part) || mayBePosted(part))
      .some((part) => !isShown(part) || (part.part?.hasFile === true && !hasAll))
  );
}

/** A text: why it cannot be sent. Else it is to be stored, then sent or given back. */
export function prepare(
  delivery: Delivery,
  decided: OutboundMessage | undefined,
  posted: readonly string[],
  adapter: Adapter,
  out: Outbound,
): Prepared | string {
  const { message, tokens } = decided ? attachTokens(delivery, decided, out) : { message: undefined, tokens: [] };
  let parts: DeliveryPart[];
  try {
    parts = planParts(delivery, message, posted, adapter);
  } catch (error) {
    return `it cannot be encoded: ${errorMessage(error)}`;
  }
  if (message) voidSentCode(delivery, message, out);
  const first = parts[0] as DeliveryPart;
  // Only a part that is written to the wire at once is marked so: one that waits for the rate limit is in no doubt after a crash.
  const nowMs = out.clock.monotonic();
  const queue = queueOf(delivery);
  const isGated = leavesDoubt(delivery, first, adapter, out);
  const isHeldBack = isGated && !out.gate.enter(delivery, queue);
  const ticket = isHeldBack
    ? undefined
    : out.limiter.take(adapter, delivery.address, queue, nowMs, urgencyOf(delivery), first.operation === "delete");
  const goes = ticket !== undefined && ticket.at <= nowMs;
  if (goes) {
    Object.assign(first, sentAfter(first, out.clock.now() - delivery.createdAt));
    first.status = "sending";
    first.attempts = 1;
  } else if (isGated && !isHeldBack) out.gate.leave();
  return { message, parts, tokens, ticket, goes, isInGate: goes && isGated };
}

/** Leaves the gate when the delivery was not stored. */
export function giveBack({ isInGate }: Prepared, out: Outbound): void {
  if (isInGate) out.gate.leave();
}

/** Sends a delivery that is stored and durable. */
export async function sendPrepared(
  delivery: Delivery,
  { message, parts, ticket, goes, isInGate }: Prepared,
  adapter: Adapter,
  out: Outbound,
): Promise<Then> {
  // The flow's own copy of the row.
  delivery.status = "sending";
  delivery.parts = parts;
  if (message) delivery.frozen = message;
  if (goes) return sendParts(delivery, adapter, out, ticket, isInGate);
  if (!ticket) return whenExpired(delivery, out.clock.now());
  return orExpiry(delivery, out.clock.now() + ticket.at - out.clock.monotonic());
}

/** Gives every button with an action its token, so that a press finds its way back, after a restart too. */
function attachTokens(
  delivery: Delivery,
  message: OutboundMessage,
  out: Outbound,
): { message: OutboundMessage; tokens: ActionToken[] } {
  if (!message.buttons?.length) return { message, tokens: [] };
  const tokens: ActionToken[] = [];
  const expiresAt = out.clock.now() + out.config.button_life;
  const deliveryId = delivery.id;
  const buttons = message.buttons.map((row) =>
    row.map((button): Button => {
      const { token: _, ...bare } = button;
      if (!bare.action || bare.url) return bare;
      if (bare.action.kind === "command") out.checkLine(bare.action.line, delivery);
      const token = out.tokens.make();
      tokens.push({ token, deliveryId, action: bare.action, expiresAt });
      return { ...bare, token };
    }),
  );
  return { message: { ...message, buttons }, tokens };
}
