/** Sends a message that did not reach one place to another; people whom an escalation called are called there. */

import {
  type Actor,
  type AlertEvent,
  type Hold,
  isOpen,
  type NewNotice,
  type Notice,
  type NoticeCopy,
  type NoticeWords,
  STATE_WORDS,
  type TakenStep,
} from "../../domain/alerts/alert.js";
import { formatAddress } from "../../domain/chat/address.js";
import { groupBy } from "../../lib/group-by.js";
import type { Alerting } from "../alerting.js";
import { isAboutPlace } from "../own-alerts.js";
import { LOSSES, type Loss, type LostPage, type Plan } from "../plan.js";
import { accountsOf, type Mentioned, readMention } from "../rota/people.js";
import { calls, isReachedNow } from "../rota/reach.js";
import { isWebhook, shownAs } from "../tell/shown-as.js";
import { takenAt, urgingOf } from "../urging.js";
import { namesOf, uncalledText } from "./call.js";
import { copyKey, lostKey, stepIn, stepOf, unreachedStep, withoutQuietHours } from "./escalate.js";
import { quietEnd, quietHours } from "./quiet-hours.js";
import { fallbacks } from "./route.js";

export type Unsaid = NoticeWords & Pick<NewNotice, "kind" | "key" | "mentions">;

export interface Undelivered extends Loss {
  destination: string;
  notice?: Unsaid;
  /** Names of its people whom another message of the same step notifies. */
  called?: readonly string[];
  /** The alert's card failed there before. */
  isAgain?: boolean;
}

const privateMessage = (name: string, fate: string) => `The private message to ${name} ${fate}`;

/** The report of a lost private message in its copy, without the words of that message. Undefined for other notices. */
export const lostPrivately = ({ sentTo, copy }: NoticeWords): string | undefined =>
  sentTo === undefined || copy === undefined ? undefined : privateMessage(sentTo, copy.fate);

export function fallback(
  plan: Plan,
  { destination, notice, called = [], isAgain = false, ...loss }: Undelivered,
  around: Alerting,
): void {
  const isAsked = notice !== undefined && takenStepOf(plan, notice.key)?.step.isAsked === true;
  const alerting = isAsked ? withoutQuietHours(around) : around;
  const { alert, knownPlaces } = plan;
  if (!isOpen(alert.state)) {
    // The history reports the step as taken. A page that only waited is `unposted`.
    if (notice?.kind === "escalation" && loss.fate !== "unsent" && loss.fate !== "waiting" && loss.fate !== "paused")
      recordLoss(plan, destination, notice, loss, alerting);
    return;
  }
  // A message about this chat goes to no second place.
  if (isAboutPlace(alert)) {
    if (!isAgain) recordLoss(plan, destination, notice, loss, alerting);
    return;
  }
  const there = new Set(knownPlaces.map((place) => place.destination));
  const elsewhere = chatsInsteadOf(plan, destination, alerting);
  const missing = elsewhere.filter((other) => !there.has(other));
  if (isAgain && notice === undefined && missing.length === 0) return;
  for (const one of missing) showCard(plan, one, alerting);
  const left = notice ? callElsewhere(plan, { destination, notice, loss, elsewhere }, called, alerting) : [];
  const unnotified = left.length === 0 ? "" : `. ${namesOf(left, alerting)} cannot be notified now`;
  const isCopied = notice?.kind === "escalation" && elsewhere.length > 0;
  const chats = [...new Set(elsewhere)].map((one) => shownAs(one, alerting.placeName)).join(", ");
  const reason = `${loss.reason}${isCopied ? `. A copy goes to ${chats}` : ""}${unnotified}`;
  recordLoss(plan, destination, notice, { ...loss, reason }, alerting);
}

/** The fallback. When no chat there takes it, the chats that show the alert get the text, and the mentions. */
function chatsInsteadOf(
  { alert, destinations }: Plan,
  lostAt: string,
  { config, admins, inhibitors }: Alerting,
): readonly string[] {
  const chats = fallbacks(config, () => admins().map(formatAddress), [lostAt]);
  if (!chats.every(inhibitors.takesNone)) return chats;
  // The people whom a step called in a private chat have the alert.
  const taken = Object.values(alert.urged ?? {}).flatMap((urging) => urging.taken ?? []);
  const direct = taken.flatMap((step) => step.direct ?? []);
  const without = [lostAt, ...direct];
  return [...chats, ...destinations.filter((one) => !without.includes(one) && !inhibitors.takesNone(one))];
}

function showCard(plan: Plan, destination: string, alerting: Alerting): void {
  const { alert, now } = plan;
  quietHours(plan, { alertId: alert.id, destination, group: "fallback", kind: "now", dueAt: now }, alerting);
}

/** A message that one chat did not take, and the chats that get a copy of it when it is a page. */
interface LostNotice {
  destination: string;
  notice: Unsaid;
  loss: Loss;
  elsewhere: readonly string[];
}

/** `called`: names of its people whom another message of its step notifies. Returns those who cannot be notified now. */
function callElsewhere(plan: Plan, lost: LostNotice, called: readonly string[], alerting: Alerting): Mentioned[] {
  const { destination, notice, loss, elsewhere } = lost;
  const { config, inhibitors } = alerting;
  // A private message mentions no one: its person may have an account where the fallback is.
  const name = notice.sentTo;
  const whom = name === undefined ? notice.mentions.map(readMention) : accountsOf([name], config, plan.now);
  const mentions = name === undefined ? notice.mentions : whom.map(({ ref }) => `${ref}|${name}`);
  if (calls(destination, whom, alerting)) noteFate(plan, destination, notice, loss);
  // People whom a waiting page calls are called elsewhere only when its platform is away.
  const isLost = inhibitors.isAway(destination) || (loss.fate !== "unsent" && loss.fate !== "waiting");
  const others = mentions.filter((one) => !called.includes(readMention(one).name));
  if (isLost && (name === undefined || notice.copy !== undefined))
    callWithout(plan, destination, { ...notice, mentions: others }, loss, elsewhere, alerting);
  if (notice.kind !== "escalation") return [];
  const left = copyPage(plan, lost, { mentions, others }, alerting);
  // A copy that is lost has an alert of its own, for its chat.
  if (!notice.copy) correct(plan, destination, notice, loss, elsewhere, alerting);
  return left;
}

/**
 * Copies the page to the chats elsewhere, and to private chats of people whom no copy there notifies. `others`: the mentions without people
 * whom another message of its step notifies. Returns the people who cannot be notified now.
 */
function copyPage(
  plan: Plan,
  { destination, notice, loss, elsewhere }: LostNotice,
  { mentions, others }: { mentions: readonly string[]; others: readonly string[] },
  alerting: Alerting,
): Mentioned[] {
  const { alert, now } = plan;
  // Under a known key: a place that has it already does not get it twice.
  const copy = { ...notice, alertId: alert.id, key: keyOfCopy(plan, notice, mentions), dueAt: now };
  const fate = fateOf(notice, destination, loss, alerting);
  const isPrivate = notice.sentTo !== undefined;
  // A step that is taken again calls its people in private chats itself, and reports the people whom its messages do not notify.
  const isTakenAgain = isPrivate || plan.lostPage !== undefined;
  const reachable = isPrivate ? [] : privateChats(others, elsewhere, destination, alerting);
  const uncalled = isPrivate || notice.copy ? [] : uncalledBy(others, elsewhere, alerting);
  const isDirect = (person: readonly Mentioned[]) => reachable.some((chat) => isReachedNow(chat, person, alerting));
  for (const one of elsewhere) {
    const about = isTakenAgain
      ? []
      : uncalled.map((person) => uncalledText(person, one, isDirect(person), alerting, now));
    const sentences = [...fate.sentences, ...about];
    plan.notices.push({ ...copy, copy: { ...fate, sentences }, destination: one, mentions });
  }
  for (const one of isTakenAgain ? [] : reachable) {
    if (!plan.destinations.includes(one)) showCard(plan, one, alerting);
    plan.notices.push({ ...copy, copy: fate, destination: one, mentions: [] });
  }
  // A step that is taken again is posted in every chat that shows the alert, which may be others by now.
  const chats = plan.lostPage === undefined ? [] : plan.destinations.filter((one) => one !== destination);
  const isCalled = (person: readonly Mentioned[]) => chats.some((chat) => isReachedNow(chat, person, alerting));
  return uncalled.filter((person) => !isDirect(person) && !isCalled(person)).flat();
}

/** The copy of a private message is one of its own, unless an earlier copy of the step mentions its person: that one is not repeated. */
function keyOfCopy({ alert }: Plan, { key, copy, sentTo }: Unsaid, mentions: readonly string[]): string {
  const { route = "", step = "" } = stepOf(key) ?? {};
  const urging = alert.urged?.[route];
  if (urging === undefined || copy !== undefined) return key;
  const known = urging.copiedFor ?? [];
  const copied = mentions.map((one) => `${step} ${readMention(one).name}`);
  urging.copiedFor = [...new Set([...known, ...copied])];
  return sentTo === undefined || known.includes(`${step} ${sentTo}`) ? key : copyKey(key, sentTo);
}

/** Records which message was lost, and only the known facts about it. */
function recordLoss(
  plan: Plan,
  destination: string,
  notice: Unsaid | undefined,
  { fate, reason }: Loss,
  { placeName }: Alerting,
): void {
  const isInDoubt = fate === "in doubt";
  const isLater = fate === "paused" || fate === "waiting";
  const took = isInDoubt ? "may not have taken" : isLater ? "has not taken" : "did not take";
  const what = notice === undefined ? " the card: " : quoted(notice);
  const event = isInDoubt ? "in_doubt" : "undelivered";
  plan.record(event, OUTBOX(destination), `${shownAs(destination, placeName)} ${took}${what}${reason}`);
}

/**
 * In the history: the message besides the card of its alert that did not arrive. Stored, and compared by `isLossOf`: lines of earlier
 * versions have this form. A new form must still recognise the old one.
 */
const quoted = (words: NoticeWords) => ` "${nameOfNotice(words)}": `;

/** Whether this line of the history is about this message for this chat, which did not arrive or may not have. */
export function isLossOf({ event, actor, reason = "" }: AlertEvent, notice: Notice): boolean {
  return LOST.has(event) && actor.id === notice.destination && reason.includes(quoted(notice));
}

const LOST: ReadonlySet<string> = new Set(["undelivered", "in_doubt"]);

/** Whether this line of the history is about the fate of a message: nothing happened to its alert. */
export const isOfOutbox = ({ actor: { name, source } }: AlertEvent) => name === OUTBOX_NAME && source === "gateway";

/** Adds the unposted page to the history, which reports that the step was taken. */
export function unposted(
  plan: Plan,
  {
    destination,
    notice,
    why = "the alert had ended before it was posted",
  }: { destination: string; notice: NoticeWords; why?: string },
  { placeName }: Alerting,
): void {
  // A webhook may have it, and its answer was lost.
  const how = isWebhook(destination) ? "did not confirm" : "did not get";
  const what = `${shownAs(destination, placeName)} ${how} "${nameOfNotice(notice)}"`;
  plan.record("unposted", OUTBOX(destination), `${what}: ${why}`);
}

export interface Posted {
  destination: string;
  notice: NoticeWords;
  dueAt: number;
  hold?: Hold | undefined;
  /** Names of the people whom it mentions. */
  mentioned: readonly string[];
}

/** Adds a late page to the history: an operator had the alert when the page was due, or its chat had not taken it. */
export function posted(
  plan: Plan,
  { destination, notice, dueAt, hold, mentioned }: Posted,
  { placeName }: Alerting,
): void {
  const what = `${namedPosted(notice)}${shownAs(destination, placeName)}`;
  const why = hold ? `; the alert was ${STATE_WORDS[hold.state]} until ${new Date(hold.until).toISOString()}` : "";
  const whom = mentioned.length === 0 ? "" : `; it mentions ${mentioned.join(", ")}`;
  plan.record("posted", OUTBOX(destination), `${what}: it was due ${new Date(dueAt).toISOString()}${why}${whom}`);
}

/**
 * How the line of the history about a late message starts. Stored, and compared by `isPostedOf`: a new form must still recognise the old
 * one.
 */
const namedPosted = (words: NoticeWords) => `"${nameOfNotice(words)}" in `;

/** Whether this line of the history reports that this message was posted late. */
export function isPostedOf({ event, actor, reason = "" }: AlertEvent, notice: Notice): boolean {
  return event === "posted" && actor.id === notice.destination && reason.startsWith(namedPosted(notice));
}

const OUTBOX_NAME = "the outbox";
const OUTBOX = (destination: string): Actor => ({ id: destination, name: OUTBOX_NAME, source: "gateway" });

/** The part of a message about an alert that names the step or the reminder. */
export const nameOfNotice = ({ sentences: [name = ""] }: NoticeWords) => name;

/** The fate for the copy. No alert about a chat is raised because its copy is in doubt. */
function fateOf({ copy }: Unsaid, destination: string, { fate, reason }: Loss, { placeName }: Alerting): NoticeCopy {
  if (copy && fate !== "in doubt") return copy;
  const where = `(it ${LOSSES[fate]} at ${shownAs(destination, placeName)}${fate === "paused" ? `; ${reason}` : ""})`;
  return copy ? { ...copy, where: `${copy.where} ${where}` } : { fate: LOSSES[fate], where, sentences: [] };
}

/** For the people whom no message in these chats notifies; on platforms other than that of the chat that did not take it. */
function privateChats(
  mentions: readonly string[],
  elsewhere: readonly string[],
  lostAt: string,
  alerting: Alerting,
): string[] {
  const { direct, inhibitors } = alerting;
  const uncalled = uncalledBy(mentions, elsewhere, alerting);
  const platform = lostAt.split(":")[0];
  const chats = uncalled.flat().flatMap(({ ref }) => direct(ref) ?? []);
  return [...new Set(chats)].filter((one) => one.split(":")[0] !== platform && !inhibitors.takesNone(one));
}

function uncalledBy(mentions: readonly string[], chats: readonly string[], alerting: Alerting) {
  const people = groupBy(mentions.map(readMention), ({ name }) => name);
  return people.filter((person) => !chats.some((one) => isReachedNow(one, person, alerting)));
}

/** The step that this notice is about: another may have been taken since. */
export function takenStepOf(
  { alert }: Plan,
  keyOfNotice: string,
): (Pick<LostPage, "route" | "place" | "key"> & { step: TakenStep }) | undefined {
  const key = stepIn(keyOfNotice) ?? keyOfNotice;
  const { route = "", step: place } = stepOf(key) ?? {};
  const step = takenAt(urgingOf(alert, { name: route }), Number(place));
  return step && { route, place: Number(place), key, step };
}

function noteFate(plan: Plan, destination: string, { key }: Unsaid, { fate }: Loss): void {
  const { step } = takenStepOf(plan, key) ?? {};
  if (step === undefined) return;
  if (fate === "in doubt") step.inDoubtAt = [...new Set([...(step.inDoubtAt ?? []), destination])];
  if (fate === "refused") step.refusedAt = [...new Set([...(step.refusedAt ?? []), destination])];
}

/** People whom no copy of the page notifies for certain are called as if the chat had been known to be unreachable. */
function callWithout(
  plan: Plan,
  destination: string,
  { key, copy, mentions }: Unsaid,
  loss: Loss,
  copies: readonly string[],
  alerting: Alerting,
): void {
  const lost = takenStepOf(plan, key);
  // A page that called no one is not news a second time.
  if (lost === undefined || unreachedStep(key) !== undefined) return;
  const { step, ...of } = lost;
  const certain = copies.filter((one) => !step.inDoubtAt?.includes(one));
  const uncalled = uncalledBy(mentions, certain, alerting);
  // The people whom a copy, or the page of a step that is taken again, did not notify were called when the page was lost.
  const isFirst = copy === undefined && key === of.key;
  const isLost = isFirst ? uncalled.length > 0 : uncalled.some((one) => calls(destination, one, alerting));
  if (isLost) plan.lostPage = { ...loss, ...of, destination, isPrivate: false, isCopy: copy !== undefined };
}

/** A private message that was lost: the chats that read of it get a correction, and the card a mark. */
function correct(
  plan: Plan,
  lostAt: string,
  notice: Unsaid,
  loss: Loss,
  informed: readonly string[],
  alerting: Alerting,
): void {
  const name = notice.sentTo;
  if (name === undefined) return;
  const { alert, now } = plan;
  const lost = takenStepOf(plan, notice.key);
  if (lost !== undefined) {
    const { step, ...of } = lost;
    if (step.direct) {
      step.direct = step.direct.filter((one) => one !== lostAt);
      if (step.direct.length === 0) step.isUnreached = true;
    }
    plan.lostPage = { ...loss, ...of, destination: lostAt, isPrivate: true, isCopy: false };
  }
  const sentences = [`${privateMessage(name, LOSSES[loss.fate])}: ${loss.reason}`];
  for (const destination of plan.destinations.filter((one) => one !== lostAt && !informed.includes(one)))
    plan.notices.push({
      alertId: alert.id,
      destination,
      kind: "escalation",
      key: lostKey(notice.key, lostAt),
      sentences,
      mentions: [],
      // The admins have the alert, and no one has to act on this notice in the night.
      dueAt: quietEnd(plan, destination, alerting) ?? now,
    });
}
