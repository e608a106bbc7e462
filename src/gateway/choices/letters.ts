/** Deliveries and dead inbox messages as `/outbox` names them: for each action those to which it applies. */
import { type Address, formatAddress } from "../../domain/chat/address.js";
import type { Choice } from "../../domain/chat/command.js";
import { addressOf } from "../../domain/chat/event.js";
import type { DeliveryStatus } from "../../domain/store.js";
import type { Deps } from "../deps.js";
import { titled } from "./titled.js";

const NEWEST = 100;

interface DeliveryFilter {
  /** In the order in which they are offered. */
  statuses: readonly DeliveryStatus[];
  /** Also messages whose handling was given up. */
  hasInbox: boolean;
}

export const LETTERS = {
  // Deliveries that need an operator come first. Sent ones need no one; their ids can be typed.
  deliveries: {
    statuses: ["held", "dead", "waiting", "sending", "suppressed", "cancelled", "superseded"],
    hasInbox: true,
  },
  "deliveries-to-release": { statuses: ["held"], hasInbox: false },
  "letters-to-retry": { statuses: ["dead"], hasInbox: true },
  "letters-to-purge": {
    statuses: ["dead", "held", "waiting", "sending", "suppressed", "cancelled", "superseded"],
    hasInbox: true,
  },
} as const satisfies Record<string, DeliveryFilter>;

/** Not the text: people's messages are shown to those who may see them, on the record. */
export async function letters(
  { statuses, hasInbox }: DeliveryFilter,
  { store, offers }: Pick<Deps, "store" | "offers">,
): Promise<Choice[]> {
  const choice = (id: string, status: string, at: Address): Choice => ({
    name: `${id} · ${status} · ${titled(offers.placeName(at) ?? formatAddress(at))}`,
    value: id,
  });
  const [rows, ...deliveries] = await Promise.all([
    hasInbox ? store.inbox.list({ status: "dead", limit: NEWEST }) : [],
    ...statuses.map((status) => store.outbox.list({ status, limit: NEWEST })),
  ]);
  const dead = rows.map(({ id, event }) => choice(`m${id}`, "dead in the inbox", addressOf(event)));
  const found = deliveries.map((some) => some.map(({ id, status, address }) => choice(id, status, address)));
  const after = statuses.indexOf("dead") + 1;
  return [...found.slice(0, after).flat(), ...dead, ...found.slice(after).flat()];
}
