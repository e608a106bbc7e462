/**
 * Notifies others, step by step, until an operator acknowledges: each route its own steps. A step that notifies none of its people reports
 * that, and goes to the fallback as well.
 */
import {
  type Actor,
  type Alert,
  isOpen,
  type Notice,
  type NoticeWords,
  type Place,
  type TakenStep,
  type Urging,
} from "../../domain/alerts/alert.js";
import { isPrivatePage } from "../../domain/alerts/notice-words.js";
import { IN_DOUBT } from "../../domain/deliveries/given-up.js";
import { groupBy } from "../../lib/group-by.js";
import type { Alerting } from "../alerting.js";
import { showNext } from "../coming.js";
import { OWN_KIND } from "../own-alerts.js";
import { CLOCK, LOSSES, type LostPage, type Plan } from "../plan.js";
import { accountsOf, type Mentioned, readMention } from "../rota/people.js";
import { askReaders, isReachedNow, type Reach, reachOf, type Step } from "../rota/reach.js";
import { LATE_PAGE_MS, lateText } from "../tell/late.js";
import { shownAs } from "../tell/shown-as.js";
import {
  asTaken,
  isCalledOff,
  type NumberedStep,
  nextStepOf,
  placesOf,
  stepsByThemselves,
  stepsToCome,
  stepTaken,
  takenAt,
  urgingOf,
} from "../urging.js";
import { mentionedAt, mentionedBy, namesOf, sentencesFor } from "./call.js";
import { quietEnd, quietHours } from "./quiet-hours.js";
import { isRepeated } from "./remind.js";
import type { Route } from "./route.js";

/** In the key of a notice that reports a lost private message. */
const LOST = ":lost:";
export const lostKey = (key: string, lostAt: string) => `${key}${LOST}${lostAt}`;

/** In the key of the copy of a private message: each person whose message was lost has a copy of their own. */
const COPY_FOR = ":copy for ";
export const copyKey = (key: string, name: string) => `${key}${COPY_FOR}${name}`;

/** Ends the key of a step that notified none of its people. */
export const UNREACHED = ":unreached";
/** In the key of a step that is taken again, before the chat that refused its page. */
export const INSTEAD_OF = ":instead of:";

/** Route and place (among those that were taken) of the step that notified none of its people; undefined for any other key. */
export function unreachedStep(key: string): { route: string; step: string } | undefined {
  const [step = ""] = key.endsWith(UNREACHED) ? key.slice(0, -UNREACHED.length).split(INSTEAD_OF) : [];
  return stepOf(step);
}

const stepKey = ({ escalateFrom }: Alert, { name }: Pick<Route, "name">, place: number) =>
  `escalation:${escalateFrom}:${name}:${place}`;

/** Route and place of the step that has this key. */
export function stepOf(key: string): { route: string; step: string } | undefined {
  const [, route, step] = /^escalation:[^:]*:(.*):(\d+)$/.exec(key) ?? [];
  return route === undefined || step === undefined ? undefined : { route, step };
}

/** The part of the key that all messages of a step have. Undefined for a notice that is about no step. */
export const stepIn = (key: string) => /^escalation:[^:]*:.*?:\d+(?=:|$)/.exec(key)?.[0];

/** The notice is about a step that was taken again because a chat refused its page. */
export const isInstead = (key: string) => key.includes(INSTEAD_OF);

/** The notice calls people, and does not only report the fate of such a message. */
export const isPageKey = (key: string) => stepIn(key) !== undefined && !key.includes(LOST);

/** 0 for a notice that is about no step. */
export const stepNumber = (key: string) => Number(stepIn(key)?.split(":").at(-1) ?? 0);

export async function escalate(plan: Plan, routes: readonly Route[], alerting: Alerting): Promise<void> {
  const { alert, now } = plan;
  const asker = alert.escalateNow;
  const isAsked = asker !== undefined;
  delete alert.escalateNow;
  if (asker && routes.every((route) => nextStepOf(alert, route) === undefined))
    plan.record("not_escalated", asker, "there is no further escalation step");
  if (plan.destinations.length > 0 && isOpen(alert.state) && !isCalledOff(alert))
    await callAgain(plan, routes, alerting);
  const isPaused = alert.signal.clock?.pausedFor !== undefined;
  const isOpenToAll =
    (alert.state === "firing" && !isPaused) || (isAsked && alert.state !== "resolved" && alert.state !== "expired");
  if (!isOpenToAll || plan.destinations.length === 0) return;
  alert.escalateFrom ??= alert.firedAt ?? now;
  if (asker && routes.some((route) => nextStepOf(alert, route) !== undefined))
    alert.called ??= { by: asker.name, at: now };
  for (const route of routes) {
    await escalateBy(plan, route, { routes, asker }, alerting);
    showNext(plan, route, routes, alerting);
  }
}

async function escalateBy(
  plan: Plan,
  route: Route,
  { routes, asker }: { routes: readonly Route[]; asker: Actor | undefined },
  alerting: Alerting,
): Promise<void> {
  const { alert, now } = plan;
  // No place of this route shows the alert yet: its steps wait for that.
  if (route.settings.escalate.length === 0 || placesOf(plan, route, routes).length === 0) return;
  for (let by = asker; ; by = undefined) {
    const urging = urgingOf(alert, route);
    const from = Math.max(alert.escalateFrom ?? now, urging.since ?? 0);
    const left = stepsToCome(alert, route);
    // A step that follows after reminders, which may never be sent, holds up none that has a time.
    const isKnown = ({ step }: NumberedStep) => dueAtOf(step, from, urging.reminders) !== undefined;
    const next = by === undefined ? left.find(isKnown) : left[0];
    if (next === undefined) return;
    const { step, number } = next;
    const dueAt = dueAtOf(step, from, urging.reminders);
    if (by === undefined && (dueAt === undefined || now < dueAt)) {
      if (alert.state === "firing") plan.lookAgainAt(dueAt);
      return;
    }
    // Only a step that falls due by time can be late: the alert was not processed at that time.
    const isTimed = by === undefined && step.after !== undefined && dueAt !== undefined;
    const lateMs = isTimed ? now - Math.max(dueAt, plan.was.nextAt ?? now) : 0;
    await askReaders(step, placesOf(plan, route, routes), alerting);
    take(plan, step, { route, routes, urging, number, by: by ?? CLOCK, lateMs }, alerting);
  }
}

/**
 * A page was refused, or may have been, and people whom it called got it nowhere for certain: the step is taken again, for whom it notifies
 * without that chat. The route, the rota and the step are those of now: who was on call when it was due may not be any more.
 */
async function callAgain(plan: Plan, routes: readonly Route[], alerting: Alerting): Promise<void> {
  const { alert, lostPage, now } = plan;
  if (lostPage === undefined) return;
  const urging = urgingOf(alert, { name: lostPage.route });
  const taken = takenAt(urging, lostPage.place);
  if (taken === undefined) return;
  const { key } = lostPage;
  const { inDoubtAt: doubted = [], refusedAt = [] } = taken;
  const all = (await alerting.store.noticesWith(alert.id, key)).filter((one) => stepIn(one.key) === key);
  const page = all.filter((one) => one.key === key);
  const called = page.flatMap(({ mentions }) => mentions.map(readMention));
  const { route, step } = stepAgain(urging, lostPage, routes, called, alerting);
  const places = placesOf(plan, route, routes);
  await askReaders(step, places, alerting);
  const people = accountsOf(step.mention, alerting.config, now);
  const wasCalled = ({ name }: Mentioned) => called.some((one) => one.name === name);
  // A page that was for others is no page in doubt for these.
  const inDoubtAt = people.some(wasCalled) ? taken.inDoubtAt : undefined;
  const lostAt = [...doubted, lostPage.destination];
  const without = doubted.reduce((rest, chat) => withChat(chat, IN_DOUBT, rest), alerting);
  const around = { ...withChat(lostPage.destination, lostPage.reason, without), inDoubtAt, lostAt };
  const reach = reachOf(step, places, around, now);
  // Mentioned at the fallback, the person is notified all the same.
  if (lostPage.isPrivate && (!reach.isUnreached || inDoubtAt !== undefined)) delete taken.isUnreached;
  const sent = [...all, ...plan.notices.filter((one) => stepIn(one.key) === key)];
  const arrived = sent.filter(({ destination }) => !refusedAt.includes(destination));
  // Another of its people may have got a private message.
  const mayBeReached = lostPage.isPrivate && (taken.direct ?? []).length > 0;
  const isNews =
    (reach.isUnreached && !mayBeReached) ||
    (reach.elsewhere.length > 0 && (!lostPage.isPrivate || reach.standIns.length > 0)) ||
    callsOthers(reach, page, arrived, around);
  if (!isNews) {
    // The copies report the people whom they do not notify.
    for (const one of lostPage.isPrivate || lostPage.isCopy ? [] : plan.notices.filter((other) => other.key === key)) {
      const news = sentencesFor(one.destination, step, reach, around, now);
      if (one.copy) one.copy = { ...one.copy, sentences: [...one.copy.sentences, ...news] };
    }
    return;
  }
  const has = page.filter(({ destination }) => !refusedAt.includes(destination));
  const isForOthers = !people.every(wasCalled);
  take(
    plan,
    step,
    {
      route,
      routes,
      urging,
      number: taken.number,
      by: CLOCK,
      lateMs: 0,
      insteadOf: { ...lostPage, taken, isForOthers },
      page: has,
    },
    around,
  );
}

/**
 * The step as it is now. Where the settings have it no longer, or it calls no one, the people whom the page called are called all the same.
 */
function stepAgain(
  urging: Urging,
  { route: name, place }: LostPage,
  routes: readonly Route[],
  called: readonly Mentioned[],
  { config }: Alerting,
): { route: Route; step: Step } {
  const found = routes.find((one) => one.name === name);
  const first = routes[0] as Route;
  const route = found ?? { ...first, name, settings: { ...first.settings, escalate: [] } };
  const { now: step } = stepTaken(urging, place, route.settings.escalate);
  if (step !== undefined && step.mention.length > 0) return { route, step };
  const mention = called.map((one) => (config.people[one.name] === undefined ? one.ref : one.name));
  return { route, step: { to: [], mention: [...new Set(mention)] } };
}

/**
 * In a private chat that has no page of the step yet; or where the alert is posted, and none of its messages that arrived notifies that
 * person.
 */
function callsOthers(
  { arriving, notified, posted }: Reach,
  page: readonly Pick<Notice, "destination">[],
  arrived: readonly Pick<Notice, "destination" | "mentions" | "sentTo" | "copy">[],
  around: Alerting,
): boolean {
  if (arriving.some((chat) => !page.some(({ destination }) => destination === chat.destination))) return true;
  const isCalled = (person: readonly Mentioned[]) =>
    arrived.some((notice) => {
      const refs = notice.mentions.map((one) => readMention(one).ref);
      const there = isPrivatePage(notice) ? person : person.filter(({ ref }) => refs.includes(ref));
      return isReachedNow(notice.destination, there, around);
    });
  return groupBy(notified, ({ name }) => name).some(
    (person) => posted.some((chat) => isReachedNow(chat, person, around)) && !isCalled(person),
  );
}

/** The alert that reports that the chat refuses messages is raised after this. */
function withChat(chat: string, refusal: string | undefined, alerting: Alerting): Alerting {
  const { inhibitors } = alerting;
  const refuses = (one: string) => (one === chat ? refusal !== undefined : inhibitors.refuses(one));
  const takesNone = (one: string) => (one === chat ? refusal !== undefined : inhibitors.takesNone(one));
  const refusalOf = (one: string, at: number) => (one === chat ? refusal : inhibitors.refusalOf(one, at));
  return { ...alerting, inhibitors: { ...inhibitors, refuses, takesNone, refusalOf } };
}

/** The person who asked for the page wants others to be notified now. */
export const withoutQuietHours = <T extends Pick<Alerting, "config">>(alerting: T): T => ({
  ...alerting,
  config: { ...alerting.config, destinations: {} },
});

/** The due time by time or by count, the first of the two; a step without either comes at once. */
function dueAtOf({ after, reminders }: Step, from: number, reminded: number): number | undefined {
  if (reminders !== undefined && reminded >= reminders) return from;
  if (after !== undefined) return from + after;
  return reminders === undefined ? from : undefined;
}

interface Taking {
  route: Route;
  routes: readonly Route[];
  urging: Urging;
  /** The step's place in the settings, from 1. */
  number: number;
  by: Actor;
  lateMs: number;
  /** The step was taken already, and this chat refused its page, which may have been for other people than the current ones. */
  insteadOf?: LostPage & { taken: TakenStep; isForOthers: boolean };
  /** The messages of the step from when it was taken first, without those that their chats refused. */
  page?: readonly Notice[];
}

function take(
  plan: Plan,
  step: Step,
  { route, routes, urging, number, by, lateMs, insteadOf, page = [] }: Taking,
  around: Alerting,
): void {
  const { alert, now } = plan;
  const there = placesOf(plan, route, routes);
  const asked = by === CLOCK ? {} : { isAsked: true as const };
  const taken = insteadOf?.taken ?? { ...asTaken(step, number), called: calledBy(step, around, now), ...asked };
  if (insteadOf === undefined) countStep(plan, urging, taken);
  const alerting = taken.isAsked ? withoutQuietHours(around) : around;
  const found = reachOf(step, there, alerting, now);
  // Its sentences name the first chat that notifies a person: one where it is posted now, if there is one.
  const waitsUntil = (chat: string) => quietEnd(plan, chat, alerting) ?? 0;
  const reach = { ...found, posted: found.posted.toSorted((a, b) => waitsUntil(a) - waitsUntil(b)) };
  const names = namesIn(step, reach, alerting);
  const late = lateText(lateMs, "the gateway was not running when it was due", LATE_PAGE_MS);
  const first = titleOf(number, names, route, routes);
  const ending = insteadOf === undefined || insteadOf.place === urging.steps ? lastText(alert, route) : [];
  const who = by === CLOCK ? [] : [`${by.name} asked for this escalation`];
  const last = [...who, ...ending, ...(late === undefined ? [] : [late])];
  const ofStep = insteadOf?.key ?? stepKey(alert, route, urging.steps);
  // It is not certain that a page in doubt notified no one.
  const end = reach.isUnreached && alerting.inDoubtAt === undefined ? UNREACHED : "";
  const key = `${ofStep}${end}`;
  const group = `${route.name}|escalated`;
  const mentioned = mentionedBy(step, reach, alerting, now);
  const chats = [...reach.posted, ...reach.elsewhere, ...reach.direct.map(({ destination }) => destination)];
  note(taken, reach, alerting);
  const facts = (at: string | undefined) => sentencesFor(at, step, reach, alerting, now);
  // These chats have the page already, without the news.
  const keyThere = insteadOf === undefined ? key : `${ofStep}${INSTEAD_OF}${insteadOf.destination}${end}`;
  // A copy of the page that was lost is posted there, with the news in the same message.
  const copied =
    insteadOf?.isPrivate === false
      ? plan.notices.flatMap(({ key: its, destination }) => (its === ofStep ? [destination] : []))
      : [];
  const isCopied = (destination: string) =>
    copied.includes(destination) && !page.some((one) => one.destination === destination);
  const lost = insteadOf && !insteadOf.isPrivate ? [lostText(insteadOf, alerting.placeName)] : [];
  const changed = insteadOf?.isForOthers && names !== "" ? [changedText(names)] : [];
  for (const destination of new Set([...reach.posted, ...reach.elsewhere, ...copied])) {
    if (destination === insteadOf?.destination) continue;
    // The chat did not get the page itself, which is why there was a copy.
    if (insteadOf?.isCopy && reach.posted.includes(destination) && alerting.inhibitors.refuses(destination)) continue;
    const { waited, waitedSince } = waitingAt(plan, destination, now - lateMs, alerting);
    const news = [...facts(destination), ...waited];
    const words = isCopied(destination)
      ? { sentences: [...changed, ...news] }
      : { sentences: [first, ...lost, ...news, ...last], step: number };
    if (words.sentences.length === 0) continue;
    const known = page.flatMap((one) => (one.destination === destination ? one.mentions : []));
    const whom = mentionedAt(destination, mentioned, alerting).filter((one) => !known.includes(storedAs(one)));
    notify(plan, destination, { key: keyThere, group, mentioned: whom, words: { ...words, waitedSince } }, alerting);
  }
  for (const { destination, name } of reach.direct) {
    const sentTo = namesOf([{ ref: name, name }], alerting);
    const { waited, waitedSince } = waitingAt(plan, destination, now - lateMs, alerting);
    const sentences = [first, ...facts(undefined), ...waited, ...last, directlyTo(sentTo, alerting)];
    const words = { sentences, step: number, sentTo, waitedSince };
    notify(plan, destination, { key, group, mentioned: [], words }, alerting);
  }
  plan.record("escalate", by, [first, ...facts(undefined), ...waitingIn(plan, chats, alerting), ...last].join(". "));
}

/** The last sentence of a page: a person may take steps that do not come by themselves. */
export function lastText(alert: Pick<Alert, "urged" | "severity">, route: Route): string[] {
  if (stepsByThemselves(alert, route).length > 0) return [];
  return [nextStepOf(alert, route) === undefined ? "This was the last step" : "No further step follows by itself"];
}

/** The people whom the step notifies, and its webhook. */
export function namesIn({ webhook }: Step, { notified }: Reach, alerting: Alerting): string {
  const pager = webhook === undefined ? [] : [shownAs(webhook)];
  return [namesOf(notified, alerting), ...pager].filter((one) => one !== "").join(", ");
}

/** The first sentence of a page. */
export function titleOf(number: number, names: string, { name, settings }: Route, routes: readonly Route[]): string {
  const of = routes.length === 1 ? "" : ` of ${name}`;
  return `Escalated: step ${number} of ${Math.max(number, settings.escalate.length)}${of}${names ? ` (${names})` : ""}`;
}

export const changedText = (names: string) => `The people of this step have changed: it notifies ${names} now`;

/** The accounts that the step mentions at this time, to compare. */
export const calledBy = ({ mention }: Pick<Step, "mention">, { config }: Pick<Alerting, "config">, now: number) =>
  [...new Set(accountsOf(mention, config, now).map(({ ref }) => ref))].sort();

function countStep({ alert }: Plan, urging: Urging, step: TakenStep): void {
  urging.steps++;
  alert.steps++;
  urging.taken = [...(urging.taken ?? []), step];
}

/** The sentence for chats that have the page: other people are notified now. */
const lostText = ({ destination, fate }: LostPage, placeName: Alerting["placeName"]) =>
  `The page in ${shownAs(destination, placeName)} ${LOSSES[fate]}`;

/** Notes whether the people of the step got its page, for the card. */
export function note(taken: TakenStep, { isCalled, arriving, isUnreached }: Reach, { inDoubtAt }: Alerting): void {
  delete taken.isUnreached;
  delete taken.direct;
  if (inDoubtAt === undefined) delete taken.inDoubtAt;
  if (isUnreached && inDoubtAt === undefined) taken.isUnreached = true;
  else if (!isCalled && arriving.length > 0) taken.direct = arriving.map(({ destination }) => destination);
}

/** True wherever it is read: the fallback gets the same words when the private chat refuses them. */
export const directlyTo = (name: string, { inDoubtAt }: Alerting) =>
  `Sent to ${name} in a private chat: not notified ${inDoubtAt === undefined ? "" : "for certain "}where this alert is posted`;

export const WAITED = "It waited because of quiet hours";

/** For a page in a chat that has quiet hours. */
function waitingAt(plan: Plan, destination: string, dueAt: number, alerting: Alerting) {
  const isQuiet = quietEnd(plan, destination, alerting) !== undefined;
  return isQuiet ? { waited: [WAITED], waitedSince: dueAt } : { waited: [] };
}

/** For the history, which must not report a page as sent that waits for a morning. */
export const waitingIn = (plan: Plan, chats: readonly string[], alerting: Alerting) =>
  chats.flatMap((chat) =>
    quietEnd(plan, chat, alerting) === undefined ? [] : [`It ${waitsText(chat, alerting.placeName)}`],
  );

/** The text has no time, because these quiet hours may change. */
export const waitsText = (chat: string, placeName: Alerting["placeName"]) =>
  `waits in ${shownAs(chat, placeName)} until its quiet hours end`;

const storedAs = ({ ref, name }: Mentioned) => `${ref}|${name}`;

/** A message of its own there, in place of a reminder of the same moment, and the alert's card, where that is not shown yet. */
export function notify(
  plan: Plan,
  destination: string,
  notice: {
    key: string;
    mentioned: readonly Mentioned[];
    group: string;
    words: NoticeWords;
    /** When the step was due, where that is known. */
    dueAt?: number | undefined;
  },
  alerting: Alerting,
): void {
  const { alert, now } = plan;
  const { key, mentioned, group, words } = notice;
  const dueAt = quietEnd(plan, destination, alerting);
  // An alert about messages that do not reach a chat is not posted in that chat.
  if (alert.signal.source.kind === OWN_KIND && alert.signal.labels.destination === destination) return;
  if (alerting.inhibitors.refusalOf(destination, now) !== undefined) return;
  const isHook = /^https?:/.test(destination);
  const waiting = waitingCard(plan, destination);
  const isAhead = waiting !== undefined && dueAt === undefined;
  if (!isHook && (isAhead || !plan.destinations.includes(destination)))
    quietHours(
      plan,
      { alertId: alert.id, destination, group: waiting?.group ?? group, kind: "now", dueAt: now },
      alerting,
    );
  // This page is a new message in the chat already.
  plan.notices = plan.notices.filter((one) => one.destination !== destination || !isRepeated(one));
  plan.notices.push({
    alertId: alert.id,
    destination,
    kind: "escalation",
    key,
    ...words,
    mentions: mentioned.map(storedAs),
    dueAt: notice.dueAt ?? dueAt ?? now,
  });
}

/** The card of an alert that the chat shows only when quiet hours end. */
function waitingCard({ places, knownPlaces }: Plan, chat: string): Pick<Place, "group"> | undefined {
  const known = knownPlaces.find((one) => one.destination === chat && one.isWaiting);
  const place = places.findLast((one) => one.destination === chat) ?? known;
  return place?.kind === "quiet" ? place : undefined;
}
