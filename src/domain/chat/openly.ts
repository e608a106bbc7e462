/**
 * Notices of the gateway, known by their ids: to a person, or the line in a room that replaces a private answer which could not be
 * delivered.
 */
import { createHash } from "node:crypto";
import type { Delivery } from "../store.js";
import { formatAddress } from "./address.js";

/** A person who is refused again and again must not fill the room, nor use up the messages that the platform lets us send there. */
export const OPENLY_ONCE_MS = 10 * 60_000;

/**
 * The id of the delivery with that line: the same for all answers to this person, in this place, of the same ten minutes; or, where each
 * message has a line of its own, for this answer alone.
 */
export function openlyId({
  id,
  openly,
  visibleTo,
  createdAt,
}: Pick<Delivery, "id" | "openly" | "visibleTo" | "createdAt">): string | undefined {
  if (!openly || visibleTo === undefined) return undefined;
  const { address, isForEach } = openly;
  // The line about one correction may change when a later one is delivered.
  const once = isForEach ? `for ${id}` : Math.floor(createdAt / OPENLY_ONCE_MS);
  const what = `${formatAddress(address)} ${visibleTo} ${once}`;
  return `${OPENLY}${createHash("sha256").update(what).digest("hex").slice(0, 20)}`;
}

const OPENLY = "d_o";

export const isOpenly = (deliveryId: string) => deliveryId.startsWith(OPENLY);

/** The id of a notice to a person: about an answer that did not plainly arrive, or about files that were lost. */
export const noticeId = (what: string) => `${NOTICE}${createHash("sha256").update(what).digest("hex").slice(0, 20)}`;

const NOTICE = "d_n";

export const isNotice = (deliveryId: string) => deliveryId.startsWith(NOTICE);
