/**
 * Cards and notices that hooks withheld, by the fate of their deliveries. Hooks decide again about a card when its alerts change, and not
 * each time it is drawn.
 */
import { createHash } from "node:crypto";
import { type Alert, type AlertCard, isOpen } from "../../domain/alerts/alert.js";
import { isStoppedByHook } from "../../domain/deliveries/given-up.js";
import type { Delivery } from "../../domain/store.js";
import { isAboutPlace } from "../own-alerts.js";
import { isOfOutbox } from "../steps/fallback.js";
import type { Telling } from "./telling.js";

const MAX_ALERTS = 20;

/**
 * The delivery of a card that hooks withheld and that is not in its chat, nor was put there by a later change. Undefined for any other
 * card.
 */
export async function withheldPost({ deliveryId }: AlertCard, telling: Telling): Promise<Delivery | undefined> {
  const post = await telling.deliveryOf(deliveryId);
  return post && isStoppedByHook(post) && !(await telling.wasPosted(deliveryId)) ? post : undefined;
}

/** The changes of a withheld card's alerts since it was first decided about, as a part of the id of the next try. Undefined: none. */
export async function newsSince(post: Delivery, { id }: AlertCard, { store }: Telling): Promise<string | undefined> {
  const news: string[] = [];
  for (const alert of await store.list({ cardId: id, limit: MAX_ALERTS })) {
    const last = (await store.history(alert.id)).findLast((event) => !isOfOutbox(event) && event.at > post.createdAt);
    if (last) news.push(`${alert.id}|${last.event}|${last.at}`);
  }
  return news.length === 0 ? undefined : createHash("sha256").update(news.sort().join()).digest("base64url");
}

/** A card of an open alert that hooks withheld in that chat, and a reminder or escalation: the reason for each. */
export interface Withheld {
  card: string | undefined;
  notice: string | undefined;
}

export async function withheldAt(destination: string, telling: Telling): Promise<Withheld> {
  return { card: await withheldCard(destination, telling), notice: await withheldNotice(destination, telling) };
}

async function withheldCard(destination: string, telling: Telling): Promise<string | undefined> {
  for (const card of await telling.store.failedCards(destination)) {
    const post = await withheldPost(card, telling);
    if (post && (await telling.store.list({ cardId: card.id, limit: MAX_ALERTS })).some(isMissed))
      return reasonOf(post);
  }
  return undefined;
}

async function withheldNotice(destination: string, telling: Telling): Promise<string | undefined> {
  for (const { alertId, deliveryId = "" } of await telling.store.lastNotices(destination)) {
    const delivery = await telling.deliveryOf(deliveryId);
    if (!delivery || !isStoppedByHook(delivery)) continue;
    const alert = await telling.store.get(alertId);
    if (alert && isMissed(alert)) return reasonOf(delivery);
  }
  return undefined;
}

/** An alert about a chat is posted where nothing else failed: no other alert is opened when hooks withhold it. */
const isMissed = (alert: Alert) => isOpen(alert.state) && !isAboutPlace(alert);

const reasonOf = ({ reason, status }: Delivery) => reason ?? status;
