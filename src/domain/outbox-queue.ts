/**
 * The queue that a delivery waits in. Most wait in their conversation's, in order. An answer to an interaction waits only for
 * earlier answers to the same one: its person sees "thinking…" meanwhile. An urgent one and one in doubt wait alone.
 */
import { formatAddress } from "./address.js";
import type { NewDelivery } from "./store.js";

/** In no address: a queue's name begins behind it. */
const SEPARATOR = "\n";

/** The conversation's address as text, with a name behind it for a queue of its own. */
export function queueOf(delivery: Pick<NewDelivery, "id" | "address" | "interaction" | "isApart">) {
  return queueText(
    formatAddress(delivery.address),
    delivery.interaction?.id ?? (delivery.isApart ? delivery.id : null),
  );
}

export function queueText(conversation: string, name: string | null): string {
  return name === null ? conversation : `${conversation}${SEPARATOR}${name}`;
}

export function readQueue(text: string): { conversation: string; name: string | null } {
  const [conversation = "", name = null] = text.split(SEPARATOR);
  return { conversation, name };
}
