/** The messages where tasks and missions can be read, and the chats where a customer can be answered. */

import { waitingSince } from "../../alerts/sla/conversations/after-sight.js";
import type { LinkTo, PlaceName } from "../../alerts/sla/conversations/as-entity.js";
import type { ClockStanding, UnsureAnswer } from "../../domain/alerts/alert-signal.js";
import type { WatchedEntity } from "../../domain/alerts/watched.js";
import { formatAddress } from "../../domain/chat/address.js";
import { isInDoubt } from "../../domain/deliveries/given-up.js";
import { type Delivery, isUnderWay, type Store } from "../../domain/store.js";
import { missionCardId } from "../../orchestrator/missions/missions.js";
import type { DeliveryLinks } from "./delivery-links.js";

export type CopyOf = (entity: Pick<WatchedEntity, "type" | "id">) => Promise<ClockStanding["copy"]>;

/** The chats to which the message of a conversation that waits was copied: by the default route, or by a hook. */
export function copiesOf({ sla, links }: Pick<Store, "sla" | "links">, { placeName, linkTo }: CopyDeps): CopyOf {
  return async ({ type, id }) => {
    const known = type === "conversation" ? await sla.caseById(id) : undefined;
    const waiting = known && waitingSince(known);
    if (known === undefined || waiting === undefined) return undefined;
    const copy = (await links.find(known.address, waiting.messageId)).find(({ isOrigin }) => !isOrigin);
    if (copy === undefined) return undefined;
    const { address, messageId } = copy;
    const name = placeName(address);
    return {
      place: name === undefined ? formatAddress(address) : `${name} on ${address.platform}`,
      link: linkTo(address, messageId, undefined),
    };
  };
}

export type AnswerOf = (entity: Pick<WatchedEntity, "type" | "id">) => Promise<UnsureAnswer | undefined>;

/** An answer to a message that still waits is among the newest deliveries of its conversation. */
const RECENT = 20;

/** The newest answer to the message of a conversation that waits: it was written, and the wait does not end before it has arrived. */
export function answersOf({ sla, outbox }: Pick<Store, "sla" | "outbox">): AnswerOf {
  return async ({ type, id }) => {
    const known = type === "conversation" ? await sla.caseById(id) : undefined;
    const waiting = known && waitingSince(known);
    if (known === undefined || waiting === undefined) return undefined;
    const { inboxId: since = 0 } = waiting;
    const deliveries = await outbox.list({ conversation: formatAddress(known.address), limit: RECENT });
    for (const answer of deliveries) {
      const { id: deliveryId, sight, createdAt: at } = answer;
      if (sight?.kind !== "said" || (sight.inboxId ?? 0) < since) continue;
      // One that arrived and did not end the wait was no answer, such as a receipt of a hook.
      const state = stateOf(answer);
      if (state !== undefined) return { deliveryId, state, at, by: sight.name };
    }
    return undefined;
  };
}

/** Undefined for an answer that arrived, and for one that will not be sent: a hook or an operator decided that. */
function stateOf(answer: Delivery): UnsureAnswer["state"] | undefined {
  if (isUnderWay(answer)) return "waiting";
  if (isInDoubt(answer)) return "in_doubt";
  if (answer.status === "held") return "held";
  return answer.status === "dead" ? "given_up" : undefined;
}

interface CopyDeps {
  placeName: PlaceName;
  linkTo: LinkTo;
}

export type LinkOf = (entity: Pick<WatchedEntity, "type" | "id">) => Promise<string | undefined>;

export function linksOf({ tasks }: Pick<Store, "tasks">, { linkTo }: Pick<DeliveryLinks, "linkTo">): LinkOf {
  return async ({ type, id }) => {
    if (type === "mission") return linkTo(missionCardId(id));
    if (type !== "task") return undefined;
    const cards = (await tasks.get(id))?.cards?.filter(({ former }) => !former) ?? [];
    // The card where all can read it comes before the conversation with its assignee.
    for (const card of [...cards.filter(({ person }) => !person), ...cards.filter(({ person }) => person).reverse()]) {
      const link = await linkTo(card.id);
      if (link !== undefined) return link;
    }
    return undefined;
  };
}
