/** The chat has another id now: the delivery goes there, with what is left of it. */
import type { Address } from "../../domain/address.js";
import { queueOf } from "../../domain/outbox-queue.js";
import type { Delivery } from "../../domain/store.js";
import type { Outbound, Then } from "./sending.js";

export async function followMove(delivery: Delivery, to: Address, out: Outbound): Promise<Then> {
  const left = delivery.parts.filter((part) => part.status !== "sent");
  await out.store.outbox.reencode(delivery.id, left, { address: to });
  out.logger.info({ delivery: delivery.id, from: delivery.address.chatId, to: to.chatId }, "delivery follows its chat");
  out.look(queueOf({ ...delivery, address: to }));
  return "again";
}
