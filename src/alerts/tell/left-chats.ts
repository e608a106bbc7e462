/** Notices that wait for a chat that has left the route of their alert: the card is elsewhere, and nothing more is posted there. */
import { type Alert, isOpen, type KnownPlace, type Notice } from "../../domain/alerts/alert.js";
import { isPrivatePage } from "../../domain/alerts/notice-words.js";
import { groupBy } from "../../lib/group-by.js";
import { readMention } from "../rota/people.js";
import { isReachedNow } from "../rota/reach.js";
import { isPageKey, stepIn, stepOf } from "../steps/escalate.js";
import { leftFor, stepTaken, urgingOf } from "../urging.js";
import type { Telling } from "./telling.js";

export async function waitingWhereLeft(waiting: readonly Notice[], telling: Telling): Promise<Notice[]> {
  const { store, clock } = telling;
  const left: Notice[] = [];
  for (const notice of waiting) {
    const { alertId, key, deliveryId, copy, dueAt } = notice;
    if (deliveryId !== undefined || copy !== undefined) continue;
    const alert = await store.get(alertId);
    if (!alert || !isOpen(alert.state) || !hasLeft(notice, alert, await store.placesOf(alertId), telling)) continue;
    // Kept until its time: the alert may come back to the chat, and the page that calls its people elsewhere may wait for longer.
    if (dueAt > clock.now() && isPageKey(key) && (await isPostedElsewhere(notice, telling))) continue;
    left.push(notice);
  }
  return left;
}

/** The chat of this notice does not show the alert any more, and the alert's step does not name that chat. */
export function hasLeft(
  { key, destination }: Notice,
  alert: Alert,
  places: readonly KnownPlace[],
  { config }: Pick<Telling, "config">,
): boolean {
  const { route = "", step } = stepOf(stepIn(key) ?? "") ?? {};
  const { now } = stepTaken(urgingOf(alert, { name: route }), Number(step), config.routes[route]?.escalate ?? []);
  return leftFor(places, destination) !== undefined && !now?.to.includes(destination);
}

/** A page follows its alert when no other message of its step calls its people. The caller removes the notice. */
export async function follow(notice: Notice, telling: Telling): Promise<void> {
  const { kind, alertId: id, destination, key } = notice;
  if (kind !== "escalation") return;
  if (isPageKey(key) && !(await isPostedElsewhere(notice, telling)))
    await telling.run({ kind: "recalled", id, notice });
  else await telling.run({ kind: "unposted", id, destination, notice, why: "the chat is no longer on the route" });
}

async function isPostedElsewhere(notice: Notice, telling: Telling): Promise<boolean> {
  const { alertId, destination, key, mentions } = notice;
  const places = await telling.store.placesOf(alertId);
  const pages = (await telling.store.noticesWith(alertId, stepIn(key) ?? key)).filter(
    (one) => isPageKey(one.key) && one.destination !== destination && leftFor(places, one.destination) === undefined,
  );
  const people = groupBy(mentions.map(readMention), ({ name }) => name);
  if (people.length === 0) return pages.length > 0;
  return people.every((person) =>
    pages.some(
      (one) => (isPrivatePage(one) && one.sentTo === person[0]?.name) || isReachedNow(one.destination, person, telling),
    ),
  );
}
