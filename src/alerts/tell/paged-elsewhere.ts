/**
 * A page that waited for its chat is posted there late: people who were notified of it in another chat meanwhile are not notified again,
 * unless an operator had the alert in between. Then it needs an operator again, and the page states that it calls that person again.
 */
import type { Alert, Notice } from "../../domain/alert.js";
import { type Mentioned, readMention } from "../people.js";
import { isReached } from "../reach.js";
import { isElsewhere } from "./check-notices.js";
import { groupBy } from "./group-by.js";
import { shownAs } from "./shown-as.js";
import type { Telling } from "./telling.js";

/** The notice without the mentions of those people, and with the chats where they were notified. */
export async function withoutPaged(notice: Notice, { since }: Alert, telling: Telling): Promise<Notice> {
  const { kind, sentAt, mentions } = notice;
  if (kind !== "escalation" || mentions.length === 0) return notice;
  // One that was not enqueued yet is on time, unless its chat was paused for too long.
  if (sentAt === undefined && !(await isElsewhere([notice], telling))) return notice;
  const copies = await copiesOf(notice, telling);
  if (copies.length === 0) return notice;
  const kept: string[] = [];
  const sentences: string[] = [];
  for (const person of groupBy(mentions.map(readMention), ({ name }) => name)) {
    // The newest, which an operator's action may have come after.
    const copy = copies.findLast((one) => isNotified(one, person, telling));
    const isAgain = copy !== undefined && (copy.sentAt ?? 0) < since;
    if (copy === undefined || isAgain) kept.push(...person.map(({ ref, name }) => `${ref}|${name}`));
    if (copy !== undefined)
      sentences.push(
        `${person[0]?.name} was notified in ${shownAs(copy.destination, telling.placeName)}${isAgain ? " before, and is notified again because the alert needs an operator again" : ""}`,
      );
  }
  return { ...notice, mentions: kept, text: [notice.text, ...sentences].join(". ") };
}

/** The same page in other chats that took it. */
async function copiesOf({ alertId, key, destination }: Notice, telling: Telling): Promise<Notice[]> {
  const copies: Notice[] = [];
  for (const one of await telling.store.noticesWith(alertId, key)) {
    if (one.destination === destination) continue;
    const delivery = one.deliveryId === undefined ? undefined : await telling.deliveryOf(one.deliveryId);
    if (delivery?.status === "sent") copies.push(one);
  }
  return copies;
}

/** `everyone` and roles are other people in another chat. */
function isNotified({ destination }: Notice, person: readonly Mentioned[], { personOf, readers }: Telling): boolean {
  const accounts = person.filter(({ ref }) => /^[^:]+:[^:]+$/.test(ref) && !readers.cannotRead(destination, ref));
  return isReached(destination, accounts, personOf);
}
