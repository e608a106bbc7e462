/**
 * Other requests for the rest of a delivery: without formatting, outside its interaction, or as a new message. The hooks' decision stays.
 */
import type { Adapter, EncodedPart } from "../../../domain/chat/adapter.js";
import type { Address } from "../../../domain/chat/address.js";
import type { OutboundMessage } from "../../../domain/chat/message.js";
import { mayBeShown } from "../../../domain/deliveries/given-up.js";
import { queueOf } from "../../../domain/deliveries/outbox-queue.js";
import type { Delivery, DeliveryPart } from "../../../domain/store.js";
import { errorMessage } from "../../../lib/errors.js";
import { finish } from "../finish.js";
import { afresh } from "../follow-move.js";
import { notShown } from "../notices/notify-asker.js";
import type { Outbound, Then } from "../sending.js";
import { isFirstAnswer, keepsItsWay } from "./doubt.js";
import { asCreate, encode, isOfHidden, newPart, overwrite } from "./plan-parts.js";

/**
 * The platform refused the formatting: the message goes without it, or only the part that was refused when others are sent. Files stay.
 * If it is refused again, it is a dead letter. Undefined: an earlier request of the part may have posted it, and this would be beside
 * that.
 */
export async function withoutFormat(
  delivery: Delivery,
  refused: DeliveryPart,
  error: string,
  adapter: Adapter,
  out: Outbound,
): Promise<Then | undefined> {
  const isWhole = delivery.parts.every((part) => part.status !== "sent");
  const giveUp = (why: string) => (mayBeShown(refused) ? undefined : finish(delivery, "dead", why, out));
  let encoded: EncodedPart[] | undefined;
  try {
    encoded = isWhole ? plainMessage(delivery, refused, adapter) : plainPart(delivery, refused, adapter);
  } catch (thrown) {
    return giveUp(`${error}; as plain text: ${errorMessage(thrown)}`);
  }
  if (!encoded?.[0]) return giveUp(error);
  if (JSON.stringify(encoded[0]?.body) === JSON.stringify(refused.part?.body)) return giveUp(error);
  const replaced = isWhole ? delivery.parts : [refused];
  const kept = delivery.parts.filter((part) => part.status !== "sent" && !replaced.includes(part));
  const targets = replaced.flatMap(({ messageId }) => (messageId === undefined ? [] : [messageId]));
  const plain = overwrite(encoded, targets, isWhole ? 0 : refused.index);
  const moved = kept.map((part, i): DeliveryPart => ({ ...part, index: (plain.at(-1)?.index ?? 0) + 1 + i }));
  if (keepsItsWay(refused, out)) {
    const [first] = plain;
    const isInPlace =
      refused.operation === "edit" || (delivery.interaction !== undefined && isFirstAnswer(delivery, refused));
    // Under its nonce, the platform drops a message that is there already; where its rest starts has changed.
    if (!first || (!isInPlace && (replaced.length > 1 || plain.length > 1))) return undefined;
    plain[0] = { ...first, nonce: refused.nonce, attempts: refused.attempts, mayHaveArrived: true };
  }
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
  // The text alone would lose the file without a word.
  return part?.hasFile ? undefined : encode(textOf(refused), delivery.address, adapter, true);
}

const textOf = ({ part }: DeliveryPart): OutboundMessage => ({ text: part?.text ?? "", format: "plain" });

/**
 * The interaction is closed: an ordinary message. A private answer must not become public by that; where its person cannot be reached
 * privately either, a line in the place of the command reports it.
 */
export async function withoutInteraction(delivery: Delivery, adapter: Adapter, out: Outbound): Promise<Then> {
  const left = unsent(delivery);
  const isNew = left.every((part) => part.operation === "create");
  const isPrivate = delivery.interaction?.isPrivate || delivery.isCourtesy;
  const address = isPrivate && isNew ? privateAddress(delivery, adapter) : undefined;
  const openly = address && delivery.answers?.role ? notShown(delivery) : undefined;
  await out.store.outbox.reencode(delivery.id, left, { withoutInteraction: true, address, openly });
  // The delivery now waits with the others of its conversation.
  out.wake(queueOf({ ...delivery, interaction: undefined, address: address ?? delivery.address }));
  return "again";
}

/** The question of a button is refused in its place: it is asked privately, and answered there. Undefined: it can be asked nowhere else. */
export async function askPrivately(delivery: Delivery, adapter: Adapter, out: Outbound): Promise<Then | undefined> {
  const address = delivery.message?.prompt && privateAddress(delivery, adapter);
  if (!address) return undefined;
  const parts = afresh(delivery, unsent(delivery), address, adapter);
  await out.store.outbox.reencode(delivery.id, parts, { address, withoutReference: true, openly: notShown(delivery) });
  out.wake(queueOf({ ...delivery, address }));
  return "again";
}

/** The message to edit is gone: its new text is posted as a message. One that is left is deleted after that. */
export async function postAnew(
  delivery: Delivery,
  gone: DeliveryPart,
  isLeft: boolean,
  adapter: Adapter,
  out: Outbound,
): Promise<Then> {
  const address = delivery.visibleTo === undefined ? undefined : privateAddress(delivery, adapter);
  const left = unsent(delivery);
  const next = Math.max(...delivery.parts.map((part) => part.index)) + 1;
  const parts = address
    ? // Messages that were shown in place to one person cannot be reached any more: all of it goes to them privately.
      left.filter((part) => part.operation !== "delete").map(asCreate)
    : left.map((part) => (part.index === gone.index ? asCreate(part) : part));
  // The message that is gone is recorded as deleted, so that later edits do not look for it again.
  const forgotten: DeliveryPart = {
    ...newPart({ operation: "delete", messageId: gone.messageId }, next),
    status: isLeft && address === undefined ? "waiting" : "sent",
  };
  const known = parts.filter((part) => !isOfHidden(part));
  const last = parts.filter(isOfHidden).map((part) => ({ ...part, index: next + 1 }));
  await out.store.outbox.reencode(delivery.id, [...known, forgotten, ...last], address ? { address } : undefined);
  if (address) out.wake(queueOf({ ...delivery, address }));
  return "again";
}

/** The unsent parts, to be written again: they posted no new message. */
function unsent(delivery: Delivery): DeliveryPart[] {
  return delivery.parts
    .filter((part) => part.status !== "sent")
    .map(({ mayHaveArrived, ...part }) => ({
      ...part,
      status: "waiting",
      mayHaveArrived: part.operation === "edit" ? mayHaveArrived : undefined,
    }));
}

function privateAddress({ address, visibleTo }: Delivery, adapter: Adapter): Address | undefined {
  return visibleTo === undefined ? undefined : adapter.traits.privateAddress(address, visibleTo);
}
