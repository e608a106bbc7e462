/** Notices that wait for a chat that has left the route of their alert: the card is elsewhere, and nothing more is posted there. */
import { isOpen, type Notice } from "../../domain/alert.js";
import { readMention } from "../people.js";
import { isReachedNow } from "../reach.js";
import { isPageKey, stepIn } from "../steps/escalate.js";
import { leftFor } from "../urging.js";
import { groupBy } from "./group-by.js";
import type { Telling } from "./telling.js";

export async function waitingWhereLeft(waiting: readonly Notice[], { store }: Telling): Promise<Notice[]> {
  const left: Notice[] = [];
  for (const notice of waiting) {
    const { alertId, destination, deliveryId, copy } = notice;
    if (deliveryId !== undefined || copy !== undefined) continue;
    const alert = await store.get(alertId);
    const isLeft = leftFor(await store.placesOf(alertId), destination) !== undefined;
    if (isLeft && alert && isOpen(alert.state)) left.push(notice);
  }
  return left;
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
    pages.some((one) => one.sentTo === person[0]?.name || isReachedNow(one.destination, person, telling)),
  );
}
