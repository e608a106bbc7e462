/**
 * The mentions and the sentences about people of a page, at the time when it is written for the outbox. A page that waited for its chat is
 * posted there late: people who were notified of it in another chat meanwhile are not notified again, unless an operator had the alert in
 * between. Then the alert needs an operator again, and the page shows that it calls that person again.
 */
import type { Alert, Notice } from "../../../domain/alerts/alert.js";
import { noticeSentences } from "../../../domain/alerts/notice-words.js";
import { type Delivery, isUnderWay } from "../../../domain/store.js";
import { groupBy } from "../../../lib/group-by.js";
import { type Mentioned, readMention } from "../../rota/people.js";
import { isReached } from "../../rota/reach.js";
import { asOfWhenDue, couldNotBeNotified, notifiedNow, UNNOTIFIED, wasUnnotified } from "../../steps/call.js";
import { isPageKey, stepIn } from "../../steps/escalate.js";
import { isElsewhere } from "../is-elsewhere.js";
import { isWebhook, shownAs } from "../shown-as.js";
import type { Telling } from "../telling.js";
import { mentionsFor } from "./mentions.js";

/** The same page in another chat, which has it or is about to get it. */
interface Call {
  destination: string;
  at: number;
  hasArrived: boolean;
  /** Accounts that the message mentions, as `platform:id`. */
  refs: readonly string[];
}

/** The notice without mentions of people who were notified in other chats, with these chats, and without sentences that became untrue. */
export async function withoutPaged(notice: Notice, { since }: Alert, telling: Telling): Promise<Notice> {
  const { kind, sentAt, mentions, destination, sentences, copy } = notice;
  if (kind !== "escalation" || mentions.length === 0) return notice;
  // A page that was not enqueued yet is on time.
  if (sentAt === undefined && !(await isLate(notice, telling))) return notice;
  const calls = await callsOf(notice, telling);
  const kept: string[] = [];
  const elsewhere: string[] = [];
  const now: string[] = [];
  const untrue = new Set<string>();
  for (const person of groupBy(mentions.map(readMention), ({ name }) => name)) {
    const name = person[0]?.name ?? "";
    // The newest call: an operator may have acted after it.
    const call = calls.findLast((one) => isNotified(one, person, telling));
    const isAgain = call !== undefined && call.at < since;
    const isHere = isReached(destination, readersOf(destination, person, telling), telling.personOf);
    if (call === undefined || isAgain) kept.push(...person.map(({ ref }) => `${ref}|${name}`));
    const unnotified = noticeSentences(notice).filter((sentence) => couldNotBeNotified(name, sentence));
    if (call?.hasArrived) {
      const again = isHere ? ", and is notified again because the alert needs an operator again" : "";
      elsewhere.push(
        `${name} was notified in ${shownAs(call.destination, telling.placeName)}${isAgain ? ` before${again}` : ""}`,
      );
    } else if (call === undefined && isHere && unnotified.length > 0) now.push(name);
    else if (call !== undefined || !isHere) continue;
    for (const sentence of [...unnotified, UNNOTIFIED]) untrue.add(sentence);
  }
  const news = [...(now.length > 0 ? [notifiedNow(now)] : []), ...elsewhere];
  const trueOf = (some: readonly string[]) => {
    const kept = some.filter((sentence) => !untrue.has(sentence));
    return sentAt === undefined ? kept : kept.map(asOfWhenDue);
  };
  const changed = { ...notice, mentions: kept };
  if (copy)
    return {
      ...changed,
      sentences: trueOf(sentences),
      copy: { ...copy, sentences: [...trueOf(copy.sentences), ...news] },
    };
  const first = sentences.findIndex((sentence) => untrue.has(sentence));
  const at = first < 0 ? sentences.length : first;
  return { ...changed, sentences: [...trueOf(sentences.slice(0, at)), ...news, ...trueOf(sentences.slice(at))] };
}

/**
 * A message that waits in the outbox mentions others than it would mention now: they were notified in another chat since, or were not
 * notified there.
 */
export async function mentionsOthers(
  destination: string,
  notices: readonly Notice[],
  { message }: Delivery,
  telling: Telling,
): Promise<boolean> {
  const wanted: string[] = [];
  let isAnyLate = false;
  for (const notice of notices) {
    const alert = await telling.store.get(notice.alertId);
    if (alert === undefined || notice.kind !== "escalation") return false;
    isAnyLate ||= await isLate(notice, telling);
    wanted.push(...(await withoutPaged(notice, alert, telling)).mentions);
  }
  const { mentions } = mentionsFor(wanted, destination, telling);
  return isAnyLate && sorted(mentions?.users) !== sorted(message?.mentions?.users);
}

const sorted = (ids: readonly string[] = []) => [...new Set(ids)].sort().join();

/**
 * Its people may have been notified elsewhere: its chat took no alerts when it was due or takes none now, or the fallback has it, or it is
 * that copy.
 */
async function isLate(notice: Notice, telling: Telling): Promise<boolean> {
  const { copy, destination } = notice;
  if (await isElsewhere([notice], telling)) return true;
  return (
    !isWebhook(destination) &&
    (copy !== undefined || wasUnnotified(noticeSentences(notice)) || telling.inhibitors.takesNone(destination))
  );
}

async function callsOf(notice: Notice, telling: Telling): Promise<Call[]> {
  const { store, deliveryOf } = telling;
  const calls: Call[] = [];
  const step = stepIn(notice.key) ?? notice.key;
  for (const one of await store.noticesWith(notice.alertId, step)) {
    const { key, destination, deliveryId, mentions, sentAt, dueAt } = one;
    if (!isPageKey(key) || destination === notice.destination || isWebhook(destination)) continue;
    const delivery = deliveryId === undefined ? undefined : await deliveryOf(deliveryId);
    const hasArrived = delivery?.status === "sent";
    if (!hasArrived && !(await isOnItsWay(one, delivery, notice, telling))) continue;
    const platform = destination.split(":")[0];
    const users = (delivery?.frozen ?? delivery?.message)?.mentions?.users ?? [];
    const refs = delivery
      ? users.map((id) => `${platform}:${id}`)
      : mentions.map((mention) => readMention(mention).ref);
    calls.push({ destination, at: sentAt ?? dueAt, hasArrived, refs });
  }
  return calls;
}

/** A page that is posted on time in a chat that takes alerts: it notifies its people. A copy exists because such a page did not. */
async function isOnItsWay(
  one: Notice,
  delivery: Delivery | undefined,
  notice: Notice,
  telling: Telling,
): Promise<boolean> {
  if (notice.copy || (await isLate(one, telling))) return false;
  return delivery ? isUnderWay(delivery) : one.sentAt === undefined && one.dueAt <= telling.clock.now();
}

/** `everyone` and roles are other people in another chat. */
function isNotified({ destination, refs }: Call, person: readonly Mentioned[], telling: Telling): boolean {
  const reader = telling.personOf(destination);
  const accounts = readersOf(destination, person, telling).filter(({ ref }) => /^[^:]+:[^:]+$/.test(ref));
  return accounts.some(({ ref }) => (reader === undefined ? refs.includes(ref) : ref === reader));
}

const readersOf = (destination: string, person: readonly Mentioned[], { readers }: Telling) =>
  person.filter(({ ref }) => !readers.cannotRead(destination, ref));
