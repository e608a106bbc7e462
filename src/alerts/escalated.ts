/** The result of an escalation that a person asked for: the people whom it notifies, and which chats get it only at the end of a pause. */
import type { Alert } from "../domain/alerts/alert.js";
import { inline } from "./card/words.js";
import { pausedText } from "./tell/late.js";
import { waitingPages } from "./tell/pages/waiting-pages.js";
import { shownAs } from "./tell/shown-as.js";
import type { Telling } from "./tell/telling.js";

/** The result in sentences, for that person. */
export async function escalatedText(alert: Alert, telling: Telling): Promise<string> {
  const { store, config, placeName, pauseOf } = telling;
  const steps = (await store.history(alert.id)).filter(({ event }) => event === "escalate");
  const last = steps.at(-1);
  const taken = steps.flatMap(({ at, actor, reason = "" }) =>
    at === last?.at && actor.id === last.actor.id ? [withoutAsker(reason, actor.name)] : [],
  );
  const waiting = (await waitingPages(alert, telling)).flatMap(({ destination }) => {
    const pause = pauseOf(destination);
    return pause ? [`The page in ${shownAs(destination, placeName)} waits: ${pausedText(pause, config)}`] : [];
  });
  return [...taken, ...waiting].map((sentence) => `${inline(sentence)}.`).join(" ");
}

/** `Escalated: step 1 of 2 (ann)`, as a sentence of its own. */
const withoutAsker = (reason: string, name: string) =>
  reason.replace(`. ${name} asked for this escalation`, "").replace(/^Escalated: s/, "S");
