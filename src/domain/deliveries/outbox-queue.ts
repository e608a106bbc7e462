/**
 * The queue that a delivery waits in. Most wait in their conversation's, in order. An answer to an interaction waits only for earlier
 * answers to the same interaction: its person sees "thinking…" meanwhile. Deliveries of another urgency wait in one queue for each
 * urgency, in order; a delivery that stepped aside (`isApart`) waits alone.
 */
import { formatAddress } from "../chat/address.js";
import type { NewDelivery } from "../store.js";

type Waiting = Pick<NewDelivery, "id" | "address" | "interaction" | "isApart" | "urgency">;

/** A character that is in no address: the name of a queue starts behind it. */
const SEPARATOR = "\n";

/** The conversation's address as text, with a name behind it for a queue of its own. */
export function queueOf({ id, address, interaction, isApart, urgency }: Waiting) {
  return queueText(formatAddress(address), interaction?.id ?? (isApart ? id : (urgency ?? null)));
}

/** No other delivery of its conversation waits for it for long. */
export function waitsAlone({ interaction, isApart }: Pick<Waiting, "interaction" | "isApart">): boolean {
  return interaction !== undefined || isApart === true;
}

export function queueText(conversation: string, name: string | null): string {
  return name === null ? conversation : `${conversation}${SEPARATOR}${name}`;
}

export function readQueue(text: string): { conversation: string; name: string | null } {
  const [conversation = "", name = null] = text.split(SEPARATOR);
  return { conversation, name };
}
