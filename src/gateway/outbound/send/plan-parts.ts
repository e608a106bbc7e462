/** A message as platform requests: creates for a new one; edits, creates and deletes for one that is there; deletes for one that goes. */
import type { Adapter, EncodedPart } from "../../../domain/chat/adapter.js";
import type { Address } from "../../../domain/chat/address.js";
import type { OutboundMessage } from "../../../domain/chat/message.js";
import type { Delivery, DeliveryPart } from "../../../domain/store.js";
import { newId } from "../../../lib/id.js";
import { withClosedTurns, withoutTurns } from "../../../lib/text/control-characters.js";

type Bare = Pick<DeliveryPart, "operation" | "messageId" | "part">;

/** `posted`: the platform messages that an edit or delete addresses. */
export function planParts(
  delivery: Delivery,
  message: OutboundMessage | undefined,
  posted: readonly string[],
  adapter: Adapter,
): DeliveryPart[] {
  const changed = delivery.operation === "send" ? [] : posted;
  const encoded = message ? encode(message, delivery.address, adapter, false) : [];
  // In another number of messages, a file is no longer where it was.
  if (!message?.attachments?.some(({ isKept }) => isKept) || encoded.length === changed.length)
    return overwrite(encoded, changed, 0);
  const attachments = message.attachments.map(({ isKept: _, ...file }) => file);
  return overwrite(encode({ ...message, attachments }, delivery.address, adapter, false), changed, 0);
}

/** Edits what is posted; creates what is more, deletes what is too many. */
export function overwrite(
  encoded: readonly EncodedPart[],
  posted: readonly string[],
  firstIndex: number,
): DeliveryPart[] {
  const parts = encoded.map((part, i) => {
    const messageId = posted[i];
    const bare: Bare = messageId === undefined ? { operation: "create", part } : { operation: "edit", messageId, part };
    return newPart(bare, firstIndex + i);
  });
  for (const messageId of posted.slice(encoded.length))
    parts.push(newPart({ operation: "delete", messageId }, firstIndex + parts.length));
  return parts;
}

/** The adapter's parts; an adapter that throws or gives none has refused the message for good. */
export function encode(message: OutboundMessage, at: Address, adapter: Adapter, plain: boolean): EncodedPart[] {
  const parts = adapter.encode(withoutForeignTurns(message), whereTo(at, message), { plain });
  if (parts.length === 0) throw new Error(`${adapter.platform} made no request of the message`);
  return parts;
}

/** Words of strangers in it turn nothing around that is shown after them. */
function withoutForeignTurns(message: OutboundMessage): OutboundMessage {
  const { text, card } = message;
  const bare = (words: string | undefined) => words && withoutTurns(words);
  const shown = { ...message, text: withClosedTurns(text) };
  if (!card) return shown;
  const bareCard = {
    ...card,
    title: bare(card.title),
    text: card.text && withClosedTurns(card.text),
    fields: card.fields?.map(({ name, value, ...field }) => ({
      ...field,
      name: withoutTurns(name),
      value: withClosedTurns(value),
    })),
    footer: bare(card.footer),
  };
  return { ...shown, card: bareCard };
}

/** A message may name a thread of its own. */
export function whereTo(at: Address, message: OutboundMessage | undefined): Address {
  return message?.threadId === undefined || message.threadId === at.threadId
    ? at
    : { ...at, threadId: message.threadId };
}

/** The nonce is random, not made of the delivery's id: a database that was started again from nothing must not meet its own old nonces. */
export function newPart(part: Bare, index: number): DeliveryPart {
  return { index, ...part, nonce: newId("n"), status: "waiting", attempts: 0 };
}

/** The last part of a deletion: for parts of the message that may be posted without a known id. */
export const deletionOfHidden = (index: number): DeliveryPart => newPart({ operation: "delete" }, index);

export const isOfHidden = ({ operation, messageId }: DeliveryPart): boolean =>
  operation === "delete" && messageId === undefined;

/** The content that was to replace another message, as a new message. */
export function asCreate({ index, part }: DeliveryPart): DeliveryPart {
  return newPart({ operation: "create", part }, index);
}
