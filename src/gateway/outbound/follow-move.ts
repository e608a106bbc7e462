/** The chat has another id now: the delivery goes there, with what is left of it. */
import type { Adapter } from "../../domain/adapter.js";
import type { Address } from "../../domain/address.js";
import { IN_DOUBT } from "../../domain/given-up.js";
import { queueOf } from "../../domain/outbox-queue.js";
import type { Delivery, DeliveryPart } from "../../domain/store.js";
import { keepsItsWay } from "./doubt.js";
import { finish } from "./finish.js";
import { noteOutOfReach, OUT_OF_REACH, withoutReference } from "./out-of-reach.js";
import { asCreate, planParts } from "./plan-parts.js";
import type { Outbound, Then } from "./sending.js";

export async function followMove(delivery: Delivery, to: Address, adapter: Adapter, out: Outbound): Promise<Then> {
  const left = delivery.parts.filter((part) => part.status !== "sent");
  const isRenumbered = adapter.traits.idsPerChat === true;
  // As a message of the new chat it would show beside what was changed in the old one.
  const isEditInDoubt = (part: DeliveryPart) =>
    part.operation === "edit" && (part.status === "sending" || keepsItsWay(part, out));
  if (isRenumbered && left.some(isEditInDoubt))
    return finish(delivery, "held", `${IN_DOUBT}; last: the chat has another id now`, out);
  const parts = isRenumbered ? afresh(delivery, left, to, adapter) : left;
  if (isRenumbered && left.some(({ operation }) => operation !== "create")) noteOutOfReach(delivery, out);
  if (left.length > 0 && parts.length === 0)
    return finish(delivery, delivery.operation === "delete" ? "cancelled" : "sent", OUT_OF_REACH, out);
  await out.store.outbox.reencode(delivery.id, parts, { address: to, withoutReference: isRenumbered });
  out.logger.info({ delivery: delivery.id, from: delivery.address.chatId, to: to.chatId }, "delivery follows its chat");
  out.wake(queueOf({ ...delivery, address: to }));
  return "again";
}

/** Without any id of the chat before: an edit is posted as a message, a deletion is left out, an answer has no reference. */
function afresh(delivery: Delivery, left: readonly DeliveryPart[], to: Address, adapter: Adapter): DeliveryPart[] {
  const creates = left.flatMap((part) =>
    part.operation === "delete" ? [] : [part.operation === "edit" ? asCreate(part) : part],
  );
  const { frozen } = delivery;
  // Only the first part has a reference.
  if (frozen?.replyToId === undefined || left.length < delivery.parts.length) return creates;
  const planned = planParts({ ...delivery, address: to }, withoutReference(frozen), [], adapter);
  const [first] = creates;
  // One that a crash cut off stays in doubt.
  return planned.map((part) =>
    first && part.index === first.index
      ? {
          ...part,
          nonce: first.nonce,
          status: first.status,
          attempts: first.attempts,
          mayHaveArrived: first.mayHaveArrived,
        }
      : part,
  );
}
