/** The parts of a delivery in its row: a list, changed as a whole. `status` shows how far each part has come. */
import { isUnknownToUs, sentAfter } from "../../domain/deliveries/given-up.js";
import type { DeliveryPart } from "../../domain/store.js";

export type Parts = readonly DeliveryPart[];

export const isUnsent = ({ status }: DeliveryPart) => status !== "sent";

/** Keeps the parts that were sent and replaces the rest. */
export function replaceUnsent(parts: Parts, replacements: Parts): Parts {
  const sent = parts.filter((part) => !isUnsent(part));
  const kept = new Set(sent.map(({ index }) => index));
  return [...sent, ...replacements.filter(({ index }) => !kept.has(index))].sort((a, b) => a.index - b.index);
}

/** The delivery of the parts goes to another chat: the ids of sent parts keep counting in the chat before. */
export function keepChat(parts: Parts, chatId: string): Parts {
  return parts.map((part) => (isUnsent(part) || part.chatId !== undefined ? part : { ...part, chatId }));
}

/**
 * The part is about to be written to the wire, `afterMs` after its delivery was created. A crash cut off a part that is on the wire
 * already.
 */
export function markSending(parts: Parts, index: number, afterMs: number): Parts {
  return parts.map((part) => {
    if (part.index !== index || !isUnsent(part)) return part;
    const before = part.status === "sending" ? inDoubt(part) : part;
    return { ...before, ...sentAfter(part, afterMs), status: "sending", attempts: part.attempts + 1 };
  });
}

const inDoubt = (part: DeliveryPart): DeliveryPart => ({ ...part, mayHaveArrived: true });

/** Undefined when no part with this index waits for its confirmation, or for the id of a message that a person confirmed. */
export function markSent(
  parts: Parts,
  index: number,
  messageId: string,
  lostFiles?: DeliveryPart["lostFiles"],
): Parts | undefined {
  if (!parts.some((part) => part.index === index && (isUnsent(part) || isUnknownToUs(part)))) return undefined;
  return parts.map((part) => (part.index === index ? { ...asSent(part, messageId), lostFiles } : part));
}

/** A sent part without its request, which is not needed again: its text is in the delivery's message. */
export function asSent({ index, operation, nonce, attempts }: DeliveryPart, messageId: string): DeliveryPart {
  return { index, operation, messageId, nonce, status: "sent", attempts };
}

/** No part was posted: after a restart no part may look as if it had been on the wire. */
export function markNotSent(parts: Parts): Parts {
  return parts.map((part) => (part.status === "sending" ? { ...part, status: "waiting" } : part));
}

/** No request was made. */
export function markUnwritten(parts: Parts): Parts {
  return parts.map((part) =>
    part.status === "sending" ? { ...part, status: "waiting", attempts: Math.max(0, part.attempts - 1) } : part,
  );
}

/** An operator sends the parts again, regardless of those that were posted. */
export const markUntried = (parts: Parts): Parts => markNotSent(parts).map(({ mayHaveArrived: _, ...part }) => part);

/** It is not known whether the part was posted; the same request is repeated. */
export const markInDoubt = (parts: Parts): Parts =>
  markNotSent(parts.map((part) => (part.status === "sending" ? inDoubt(part) : part)));

/** An operator confirms that the parts on the wire did arrive. */
export function confirmSending(parts: Parts): Parts {
  return parts.map((part) => (part.status === "sending" ? { ...part, status: "sent" } : part));
}

/** An operator confirms that all parts arrived. */
export function confirmAll(parts: Parts): Parts {
  return parts.map((part) => ({ ...part, status: "sent" }));
}
