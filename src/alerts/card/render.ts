/** The content of a card: one alert whole, or the worst of many and the number of the others. */
import type { Alert, AlertCard } from "../../domain/alerts/alert.js";
import type { OutboundMessage } from "../../domain/chat/message.js";
import { type Coming, comingOf } from "../coming.js";
import { labelsOf } from "../matchers.js";
import { Plan } from "../plan.js";
import { firedAgain } from "../reexamine.js";
import { isOfWoken } from "../steps/breach.js";
import { routesFor } from "../steps/route.js";
import { quietPages, waitingPages } from "../tell/pages/waiting-pages.js";
import { isPostedNowhere } from "../tell/posted-nowhere.js";
import type { Telling } from "../tell/telling.js";
import { leftFor } from "../urging.js";
import { alertCard, type CardFacts } from "./alert-card.js";
import { alertDetails } from "./details.js";
import { listCard, markOfCard } from "./list-card.js";
import { movedCard, supersededCard } from "./moved-card.js";
import { standingOf } from "./standing.js";
import { inline, NAMED, TITLE_MAX } from "./words.js";

export async function renderCard(card: AlertCard, telling: Telling): Promise<OutboundMessage> {
  const alerts = await telling.store.list({ cardId: card.id, limit: 20 });
  if (card.kind !== "alert") {
    const message = (await onlyOne(card, alerts, telling)) ?? (await listCard(card, telling));
    const text = `${message.card?.text ?? ""}${await apartText(card, telling)}`;
    return { ...message, card: { ...message.card, text } };
  }
  // The card is about the newest episode.
  const alert = [...alerts].sort((a, b) => b.episode - a.episode || b.raisedAt - a.raisedAt)[0];
  const [moved] = await telling.store.movedFrom(card.id, 1);
  if (moved && moved.alert.episode >= (alert?.episode ?? 0)) return movedCard(moved.alert, moved.movedTo, telling);
  if (alert === undefined) return withoutAlert(card, telling);
  return alertCard(alert, await factsOf(alert, card.destination, alerts, telling), telling);
}

/** For a catch-up: notices that waited for the same end of quiet hours about alerts with other cards, while this chat shows them. */
async function apartText({ id, kind, destination, key }: AlertCard, { store }: Telling): Promise<string> {
  const waited = kind === "catch-up" ? await store.noticesDueAt(destination, Number(key)) : [];
  const titles = new Set<string>();
  for (const notice of waited) {
    const alert = await store.get(notice.alertId);
    const places = await store.placesOf(notice.alertId);
    const isHere = places.some(({ cardId }) => cardId === id) || leftFor(places, destination) !== undefined;
    const isPosted = notice.deliveryId !== undefined || alert?.state === "firing";
    if (alert && !isHere && (isPosted || isOfWoken(notice, alert))) titles.add(inline(alert.signal.title, TITLE_MAX));
  }
  if (titles.size === 0) return "";
  const more = titles.size > NAMED ? ` and ${titles.size - NAMED} more` : "";
  const named = [...titles].slice(0, NAMED).join(", ");
  return `\n\nSeparate messages follow about alerts that already have a card: ${named}${more}.`;
}

/** The alert left this card, and was then put into another. */
async function withoutAlert({ key, destination }: AlertCard, { store }: Telling): Promise<OutboundMessage> {
  const alert = await store.latest(key);
  if (alert === undefined) return { text: "This alert is not kept any more." };
  const places = await store.placesOf(alert.id);
  return supersededCard(
    alert,
    places.some((one) => one.destination === destination && one.cardId !== undefined),
  );
}

/** A card of many with one alert so far shows as much of it as a card of its own. */
async function onlyOne(
  card: AlertCard,
  [alert, another]: readonly Alert[],
  telling: Telling,
): Promise<OutboundMessage | undefined> {
  if (alert === undefined || another !== undefined) return undefined;
  if ((await telling.store.movedFrom(card.id, 1)).length > 0) return undefined;
  const message = alertCard(alert, await factsOf(alert, card.destination, [alert], telling), telling);
  const title = `${markOfCard(card)} ${message.card?.title ?? ""}`.slice(0, 250);
  return { ...message, card: { ...message.card, title } };
}

/** `/alerts show ID`. `destination`: the chat where it is shown, whose time zone and route hold. */
export async function renderDetails(alert: Alert, destination: string, telling: Telling): Promise<OutboundMessage> {
  const waiting = await waitingPages(alert, telling);
  const isNowhere = await isPostedNowhere(alert, telling);
  const facts = await factsOf(alert, destination, [alert], telling);
  const again = await firedAgain(alert, telling.store);
  return alertDetails(alert, { ...facts, waiting, isNowhere, again }, telling);
}

/** The next automatic messages of an alert as it is now. */
export async function comingNow(alert: Alert, telling: Telling): Promise<Coming[]> {
  const knownPlaces = await telling.store.placesOf(alert.id);
  const plan = new Plan(alert, { now: telling.clock.now(), knownPlaces, isNew: false });
  return comingOf(plan, routesFor(alert, telling), telling);
}

async function factsOf(
  alert: Alert,
  destination: string,
  episodes: readonly Alert[],
  telling: Telling,
): Promise<CardFacts> {
  const now = telling.clock.now();
  return {
    destination,
    routes: routesFor(alert, telling),
    coming: await comingNow(alert, telling),
    episodes,
    history: await telling.store.history(alert.id),
    standing: await standingOf(alert, telling),
    waits: await quietPages(alert, telling),
    quiet: telling.silences.find(labelsOf(alert), now),
  };
}
