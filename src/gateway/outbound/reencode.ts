/** Other requests for what is left of a delivery: without formatting, outside its interaction, or as a new message. The hooks' decision stays. */
import type { Adapter, EncodedPart } from "../../domain/adapter.js";
import { type Address, formatAddress } from "../../domain/address.js";
import type { OutboundMessage } from "../../domain/message.js";
import type { Delivery, DeliveryPart } from "../../domain/store.js";
import { errorMessage } from "../../lib/errors.js";
import { finish } from "./finish.js";
import { encode, newPart, overwrite } from "./plan-parts.js";
import type { Outbound, Then } from "./sending.js";

/** The platform refused the formatting: the text goes as plain text. Refused once more, it is a dead letter. */
export async function withoutFormat(
  delivery: Delivery,
  refused: DeliveryPart,
  error: string,
  adapter: Adapter,
  out: Outbound,
): Promise<Then> {
  const isWhole = delivery.parts.every((part) => part.status !== "sent");
  // Parts that are sent stay; of the one that was refused its readable text is left.
  const partText: OutboundMessage = { text: refused.part?.text ?? "", format: "plain" };
  const message = isWhole ? (delivery.frozen ?? delivery.message ?? partText) : partText;
  let encoded: EncodedPart[];
  try {
    encoded = encode(message, delivery.address, adapter, true);
  } catch (thrown) {
    return finish(delivery, "dead", `${error}; as plain text: ${errorMessage(thrown)}`, out);
  }
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

/** The interaction is closed: an ordinary message. A private answer must not become public by that. */
export async function withoutInteraction(delivery: Delivery, adapter: Adapter, out: Outbound): Promise<Then> {
  const left = unsent(delivery);
  const isNew = left.every((part) => part.operation === "create");
  const address = delivery.interaction?.isPrivate && isNew ? privateAddress(delivery, adapter) : undefined;
  await out.store.outbox.reencode(delivery.id, left, { withoutInteraction: true, ...(address ? { address } : {}) });
  if (address) out.look(formatAddress(address));
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
    ...newPart({ operation: "delete", ...(gone.messageId === undefined ? {} : { messageId: gone.messageId }) }, next),
    status: "sent",
  };
  await out.store.outbox.reencode(delivery.id, [...parts, forgotten], address ? { address } : undefined);
  if (address) out.look(formatAddress(address));
  return "again";
}

function asCreate({ index, part }: DeliveryPart): DeliveryPart {
  return newPart({ operation: "create", ...(part ? { part } : {}) }, index);
}

/** As they are, to be written anew: none of them was posted. */
function unsent(delivery: Delivery): DeliveryPart[] {
  return delivery.parts.filter((part) => part.status !== "sent").map((part) => ({ ...part, status: "waiting" }));
}

function privateAddress({ address, visibleTo }: Delivery, adapter: Adapter): Address | undefined {
  return visibleTo === undefined ? undefined : adapter.traits.privateAddress(address, visibleTo);
}
