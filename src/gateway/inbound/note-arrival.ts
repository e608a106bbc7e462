/** A press proves that the message with the button arrived, also when its delivery is held in doubt. */
import type { ActionEvent } from "../../domain/event.js";
import type { Inbound } from "./receiving.js";

export async function noteArrival({ token, message }: ActionEvent, inbound: Inbound): Promise<void> {
  if (message.messageId === "") return;
  const presented = await inbound.tokens.verify(token, inbound.clock.now());
  if (presented.kind === "forged" || presented.token === undefined) return;
  const delivery = await inbound.store.outbox.get(presented.token.deliveryId);
  const inDoubt = delivery?.parts.find(({ status }) => status === "sending");
  if (delivery?.status !== "held" || !inDoubt) return;
  const { id, address } = delivery;
  await inbound.confirmArrival(id, inDoubt.index, message.messageId);
  inbound.logger.info(
    { delivery: id, platform: address.platform },
    "A button of a held message was pressed, so the message did arrive: it is taken as sent.",
  );
}
