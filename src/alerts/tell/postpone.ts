/** When quiet hours change while alerts wait for their end, the alerts wait for the new end. */
import type { Notice } from "../../domain/alerts/alert.js";
import { quietUntil } from "../quiet-until.js";
import { isRepeated, SHARED_EVERY_MS } from "../steps/remind.js";
import type { Telling } from "./telling.js";

/** Moves all waiting places to one end of quiet hours: the summary has them all, and is named for that end. */
export async function postponePlaces(destination: string, limit: number, telling: Telling): Promise<void> {
  const { store, config, clock } = telling;
  const end = quietUntil(config.destinations[destination]?.quiet, "info", clock.now());
  if (end === undefined) return;
  const waiting = await store.waiting(destination, limit);
  if (waiting.some(({ kind, dueAt }) => kind === "quiet" && dueAt !== end))
    await store.postponePlaces(destination, end);
}

/** False: all notices have the right due time. */
export async function postponeNotices(waiting: readonly Notice[], telling: Telling): Promise<boolean> {
  const { store, config, clock, wakePlace } = telling;
  let isChanged = false;
  for (const notice of waiting) {
    const { id, alertId, destination, dueAt, waitedSince, copy, sentAt, deliveryId } = notice;
    const now = clock.now();
    const isHeld = waitedSince !== undefined && copy === undefined && sentAt === undefined;
    if (deliveryId !== undefined || !(dueAt > now || isHeld)) continue;
    const quiet = config.destinations[destination]?.quiet;
    const alert = quiet && (await store.get(alertId));
    const end = alert && quietUntil(quiet, alert.severity, now);
    // A reminder of a card that alerts share waits for its time.
    const until = end ?? Math.min(dueAt, isRepeated(notice) ? now + SHARED_EVERY_MS : now);
    if (until === dueAt) continue;
    await store.postponeNotices([id], until);
    // Cards show the end of the wait.
    for (const { cardId, destination: chat } of await store.placesOf(alertId)) {
      if (cardId === undefined) continue;
      await store.redraw(cardId);
      wakePlace(chat);
    }
    isChanged = true;
  }
  return isChanged;
}
