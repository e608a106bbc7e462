/**
 * One alert among several, as list cards, digests and `/alerts` show it: the person, the time and reason of their wait, their last words,
 * its id.
 */
import { type Alert, STATE_WORDS } from "../../domain/alerts/alert.js";
import type { Telling } from "../tell/telling.js";
import { headline, wordsOf } from "./alert-card.js";
import { standingOf } from "./standing.js";
import { inline, markOf, titleOf } from "./words.js";

/** About two lines on a phone. */
const WORDS_MAX = 80;

export async function alertLine(alert: Alert, telling: Pick<Telling, "standing" | "mask" | "clock">): Promise<string> {
  const standing = await standingOf(alert, telling);
  const now = headline(alert, standing, telling.clock.now());
  const words = wordsOf(standing, telling);
  // A headline about a wait does not show that an operator has the alert.
  const what = now === alert.signal.title ? titleOf(alert) : `${markOf(alert)} **${inline(now, 200)}**${heldBy(alert)}`;
  return `${what}${words === undefined || words === "" ? "" : `: “${inline(words, WORDS_MAX)}”`} \`${alert.id}\``;
}

/** `, acknowledged by Olga` */
export function heldBy({ state, ack, snooze }: Alert): string {
  if (state === "acked") return `, acknowledged by ${inline(ack?.by ?? "an operator", 60)}`;
  if (state === "snoozed") return `, snoozed by ${inline(snooze?.by ?? "an operator", 60)}`;
  return state === "firing" || state === "warned" ? "" : `, ${STATE_WORDS[state]}`;
}
