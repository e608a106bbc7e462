/** Other requests for what is left of a delivery: without formatting, outside its interaction, or as a new message. The hooks' decision stays. */
import type { Adapter, EncodedPart } from "../../domain/adapter.js";
import type { Address } from "../../domain/address.js";
import type { OutboundMessage } from "../../domain/message.js";
import { queueOf } from "../../domain/outbox-queue.js";
import type { Delivery, DeliveryPart } from "../../domain/store.js";
import { errorMessage } from "../../lib/errors.js";
import { finish } from "./finish.js";
import { asCreate, encode, newPart, overwrite } from "./plan-parts.js";
import type { Outbound, Then } from "./sending.js";

/**
 * The platform refused the formatting: the message goes without it, or only the part that was refused when others are sent. Files stay.
 * Refused once more, it is a dead letter.
 */
export async function withoutFormat(
  delivery: Delivery,
  refused: DeliveryPart,
  error: string,
  adapter: Adapter,
  out: Outbound,
): Promise<Then> {
  const isWhole = delivery.parts.every((part) => part.status !== "sent");
  let encoded: EncodedPart[] | undefined;
  try {
    encoded = isWhole ? plainMessage(delivery, refused, adapter) : plainPart(delivery, refused, adapter);
  } catch (thrown) {
    return finish(delivery, "dead", `${error}; as plain text: ${errorMessage(thrown)}`, out);
  }
  if (!encoded?.[0]) return finish(delivery, "dead", error, out);
  if (JSON.stringify(encoded[0]?.body) === JSON.stringify(refused.part?.body))
    return finish(delivery, "dead", error, out);
  const replaced = isWhole ? delivery.parts : [refused];
  const kept = delivery.parts.filter((part) => part.status !== "sent" && !replaced.includes(part));
  const targets = replaced.flatMap(({ messageId }) => (messageId === undefined ? [] : [messageId]));
  const plain = overwrite(encoded, targets, isWhole ? 0 : refused.index);
  const moved = kept.map((part, i): DeliveryPart => ({ ...part, index: (plain.at(-1)?.index ?? 0) + 1 + i }));
  await out.store.outbox.reencode(delivery.id, [...plain, ...moved]);
  return "again";
}

function plainMessage(delivery: Delivery, refused: DeliveryPart, adapter: Adapter): EncodedPart[] {
  const message = delivery.frozen ?? delivery.message ?? textOf(refused);
  return encode(message, delivery.address, adapter, true);
}

function plainPart(delivery: Delivery, refused: DeliveryPart, adapter: Adapter): EncodedPart[] | undefined {
  const { part } = refused;
  if (part && adapter.plainPart) return adapter.plainPart(part);
  // Its text alone would lose the file without a word.
  return part?.hasFile ? undefined : encode(textOf(refused), delivery.address, adapter, true);
}

const textOf = ({ part }: DeliveryPart): OutboundMessage => ({ text: part?.text ?? "", format: "plain" });

/** The interaction is closed: an ordinary message. A private answer must not become public by that. */
export async function withoutInteraction(delivery: Delivery, adapter: Adapter, out: Outbound): Promise<Then> {
  const left = unsent(delivery);
  const isNew = left.every((part) => part.operation === "create");
  const isPrivate = delivery.interaction?.isPrivate || delivery.isCourtesy;
  const address = isPrivate && isNew ? privateAddress(delivery, adapter) : undefined;
  await out.store.outbox.reencode(delivery.id, left, { withoutInteraction: true, address });
  // It waits with the conversation's others now.
  out.look(queueOf({ id: delivery.id, address: address ?? delivery.address }));
  return "again";
}

/** The message to edit is gone: its new text is posted as a message. */
export async function postAnew(delivery: Delivery, gone: DeliveryPart, adapter: Adapter, out: Outbound): Promise<Then> {
  const address = delivery.visibleTo === undefined ? undefined : privateAddress(delivery, adapter);
  const left = unsent(delivery);
  const next = Math.max(...delivery.parts.map((part) => part.index)) + 1;
  const parts = address
    ? // What was shown in place to one person cannot be reached any more: all of it goes to them privately.
      left.filter((part) => part.operation !== "delete").map(asCreate)
    : left.map((part) => (part.index === gone.index ? asCreate(part) : part));
  // So that later edits do not look for it again.
  const forgotten: DeliveryPart = {
    ...newPart({ operation: "delete", messageId: gone.messageId }, next),
    status: "sent",
  };
  await out.store.outbox.reencode(delivery.id, [...parts, forgotten], address ? { address } : undefined);
  if (address) out.look(queueOf({ ...delivery, address }));
  return "again";
}

/** As they are, to be written anew: none of them was posted. */
function unsent(delivery: Delivery): DeliveryPart[] {
  return delivery.parts.filter((part) => part.status !== "sent").map((part) => ({ ...part, status: "waiting" }));
}

function privateAddress({ address, visibleTo }: Delivery, adapter: Adapter): Address | undefined {
  return visibleTo === undefined ? undefined : adapter.traits.privateAddress(address, visibleTo);
}
