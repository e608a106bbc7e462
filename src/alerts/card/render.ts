/** What a card shows: one alert whole, or the worst of many and how many more. */
import { type Alert, type AlertCard, isOpen } from "../../domain/alert.js";
import type { OutboundMessage } from "../../domain/message.js";
import { labelsOf } from "../matchers.js";
import type { Telling } from "../tell/telling.js";
import { alertCard, type CardFacts } from "./alert-card.js";
import { alertDetails } from "./details.js";
import { listCard } from "./list-card.js";
import { movedCard } from "./moved-card.js";

export async function renderCard(card: AlertCard, telling: Telling): Promise<OutboundMessage> {
  if (card.kind !== "alert") return listCard(card, telling);
  const alerts = await telling.store.list({ cardId: card.id, limit: 20 });
  // The newest episode is what it is about.
  const alert = [...alerts].sort((a, b) => b.episode - a.episode || b.raisedAt - a.raisedAt)[0];
  const [moved] = await telling.store.movedFrom(card.id);
  if (moved && moved.alert.episode >= (alert?.episode ?? 0)) return movedCard(moved.alert, moved.movedTo);
  if (alert === undefined) return { text: "This alert is not kept any more." };
  return alertCard(alert, await factsOf(alert, card.destination, alerts.length, telling), telling);
}

/** `/alerts show ID`. `destination`: the chat where it is shown, whose time zone and route hold. */
export async function renderDetails(alert: Alert, destination: string, telling: Telling): Promise<OutboundMessage> {
  return alertDetails(alert, await factsOf(alert, destination, 1, telling), telling);
}

async function factsOf(alert: Alert, destination: string, times: number, telling: Telling): Promise<CardFacts> {
  return {
    destination,
    times,
    history: await telling.store.history(alert.id, 200),
    standing: await standingOf(alert, telling),
    quiet: telling.silences.find(labelsOf(alert), telling.clock.now()),
  };
}

/** What its source said once is old by now: people, pauses and the time have gone on. */
export async function standingOf({ state, signal: { source } }: Alert, { standing }: Telling) {
  return source.kind === "sla" && isOpen(state) ? standing(source.id) : undefined;
}
