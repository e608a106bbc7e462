/** What a card shows: one alert whole, or the worst of many and how many more. */
import { type AlertCard, isOpen } from "../../domain/alert.js";
import type { OutboundMessage } from "../../domain/message.js";
import { labelsOf } from "../matchers.js";
import type { Telling } from "../tell/telling.js";
import { alertCard } from "./alert-card.js";
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
  const history = await telling.store.history(alert.id, 200);
  const { source } = alert.signal;
  // What its source said once is old by now: people, pauses and the time have gone on.
  const standing = source.kind === "sla" && isOpen(alert.state) ? await telling.standing(source.id) : undefined;
  const quiet = telling.silences.find(labelsOf(alert), telling.clock.now());
  const facts = {
    destination: card.destination,
    times: alerts.length,
    history,
    ...(standing === undefined ? {} : { standing }),
    ...(quiet === undefined ? {} : { quiet }),
  };
  return alertCard(alert, facts, telling);
}
