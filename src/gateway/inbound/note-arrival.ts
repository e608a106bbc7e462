/** People's acts on a message of ours prove that it arrived, also when its delivery is held in doubt: it is taken as sent. */
import { formatAddress } from "../../domain/chat/address.js";
import type { ActionEvent } from "../../domain/chat/event.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import { isUnknownToUs, mayBePosted } from "../../domain/deliveries/given-up.js";
import type { Delivery, DeliveryPart } from "../../domain/store.js";
import { type Inbound, messageAddress } from "./receiving.js";

/** The number of deliveries of a conversation that are looked through; a message that is replied to is mostly among the newest. */
const RECENT = 100;
/** The platform's clock may differ from ours. */
const CLOCKS_DIFFER_MS = 60_000;

export async function notePressed({ token, message }: ActionEvent, inbound: Inbound): Promise<void> {
  if (message.messageId === "") return;
  const presented = await inbound.tokens.verify(token, inbound.clock.now());
  if (presented.kind === "forged" || presented.token === undefined) return;
  const delivery = await inbound.store.outbox.get(presented.token.deliveryId);
  const inDoubt = delivery?.parts.find(({ status }) => status === "sending");
  if (delivery?.status !== "held" || !inDoubt) return;
  await noteArrival({ delivery, part: inDoubt }, message.messageId, "A button of it was pressed", inbound);
}

/** The platform shows which message of ours is replied to: the one with its text that is in doubt, when there is no other. */
export async function noteReplied(message: InboundMessage, inbound: Inbound): Promise<void> {
  const { replyToId } = message;
  if (replyToId === undefined) return;
  const [found, ...more] = await unknownAt(message, inbound);
  // An open one is still being sent, and settles itself.
  if (found && more.length === 0 && found.delivery.status !== "sending")
    await noteArrival(found, replyToId, "It was replied to", inbound);
}

interface Unknown {
  delivery: Delivery;
  part: DeliveryPart;
}

/** Messages of ours without an id in the store that look like the one that is replied to. None when that one is known. */
export async function unknownAt(message: InboundMessage, { store, clock }: Inbound): Promise<Unknown[]> {
  const { replyToId, replyToOwn } = message;
  const at = messageAddress(message);
  if (replyToId === undefined || !replyToOwn?.text) return [];
  if (await store.outbox.findByMessage(at, replyToId)) return [];
  const conversation = formatAddress(at);
  const lists = await Promise.all(
    (["held", "sending", "sent"] as const).map((status) => store.outbox.list({ status, conversation, limit: RECENT })),
  );
  const isPostedThen = ({ createdAt, settledAt = clock.now() }: Delivery) =>
    replyToOwn.writtenAt >= createdAt - CLOCKS_DIFFER_MS && replyToOwn.writtenAt <= settledAt + CLOCKS_DIFFER_MS;
  return lists
    .flat()
    .filter(isPostedThen)
    .flatMap((delivery) =>
      delivery.parts
        .filter(
          (part) =>
            part.operation === "create" &&
            (mayBePosted(part) || isUnknownToUs(part)) &&
            isShownAs(replyToOwn.text, part),
        )
        .map((part) => ({ delivery, part })),
    );
}

/** Below the text of a file are the names of its files, which the platform shows otherwise. */
function isShownAs(shown: string, { part }: DeliveryPart): boolean {
  const text = part?.text.trim();
  return text === shown.trim() || (part?.hasFile === true && text?.startsWith(`${shown.trim()}\n`) === true);
}

async function noteArrival({ delivery, part }: Unknown, messageId: string, why: string, inbound: Inbound) {
  const { id, address } = delivery;
  await inbound.confirmArrival(id, part.index, messageId);
  inbound.logger.info(
    { delivery: id, platform: address.platform },
    `${why}, so a message of which it was not known whether it arrived did arrive: it is taken as sent.`,
  );
}
