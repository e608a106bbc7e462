/** A page that waited is about to be posted, and other people are on call now: its step notifies these, and its page gets new words. */
import type { Notice } from "../../domain/alerts/alert.js";
import { isPrivatePage, noticeWords } from "../../domain/alerts/notice-words.js";
import { groupBy } from "../../lib/group-by.js";
import type { Alerting } from "../alerting.js";
import { CLOCK, type Plan, RULE } from "../plan.js";
import { askReaders, isReachedNow, type Reach, reachOf, type Step } from "../rota/reach.js";
import { shownAs } from "../tell/shown-as.js";
import { leftFor, placesOf, stepTaken, urgingOf } from "../urging.js";
import { mentionedAt, mentionedBy, namesOf, sentencesFor } from "./call.js";
import {
  changedText,
  directlyTo,
  INSTEAD_OF,
  lastText,
  namesIn,
  note,
  notify,
  stepIn,
  stepOf,
  titleOf,
  UNREACHED,
  WAITED,
  waitingIn,
} from "./escalate.js";
import { nameOfNotice } from "./fallback.js";
import { quietEnd } from "./quiet-hours.js";
import type { Route } from "./route.js";

export interface Recalled {
  notice: Notice;
}

/** The step of a page that waited, and whom it notifies now. */
interface StepNow {
  /** The page that waited. */
  notice: Notice;
  /** All messages of the step have this key, or one that starts with it. */
  key: string;
  group: string;
  /** The step's place in the settings, from 1. */
  number: number;
  step: Step;
  reach: Reach;
  /** The first sentences of every message about it. */
  opening: readonly string[];
  ending: readonly string[];
  /** The chats that the alert moved to; undefined while the chat of the page shows it. */
  left: readonly string[] | undefined;
  /** When the page was due. Undefined where the alert moved: the other chats have other quiet hours. */
  dueAt: number | undefined;
}

/** Safe to repeat. The caller removes the page that waited. */
export async function recall(
  plan: Plan,
  routes: readonly Route[],
  { notice }: Recalled,
  alerting: Alerting,
): Promise<void> {
  const { alert, now } = plan;
  const { destination: at } = notice;
  const left = leftFor(plan.knownPlaces, at);
  const ofStep = stepIn(notice.key) ?? notice.key;
  const { route: name, step: place } = stepOf(ofStep) ?? {};
  const route = routes.find((one) => one.name === name);
  const urging = urgingOf(alert, { name: name ?? "" });
  const { then, now: step } = stepTaken(urging, Number(place), route?.settings.escalate ?? []);
  if (route === undefined || then === undefined || step === undefined) {
    postUnchanged(plan, notice, insteadKey(ofStep, at), left ?? [at]);
    return;
  }
  const all = (await alerting.store.noticesWith(alert.id, ofStep)).filter(({ key }) => stepIn(key) === ofStep);
  if (all.some(({ destination, key }) => destination === at && key.startsWith(insteadKey(ofStep, at)))) return;

  const isPrivate = (chat: string) => all.some((one) => one.destination === chat && isPrivatePage(one));
  const there = placesOf(plan, route, routes).filter((chat) => !isPrivate(chat));
  await askReaders(step, there, alerting);
  const reach = reachOf(step, there, alerting, now);
  note(then, reach, alerting);
  const names = namesIn(step, reach, alerting);
  const first = titleOf(then.number, names, route, routes);
  const isSame = first === nameOfNotice(notice);
  const opening = [first, ...(isSame || names === "" ? [] : [changedText(names)])];
  const ending = urging.steps === Number(place) ? lastText(alert, route) : [];
  const group = `${route.name}|escalated`;
  const dueAt = left === undefined ? notice.dueAt : undefined;
  const stepNow = { notice, key: ofStep, group, number: then.number, step, reach, opening, ending, left, dueAt };
  const others = otherChats(stepNow, all, alerting);
  pageChats(plan, stepNow, others, alerting);
  pagePrivately(plan, stepNow, alerting);
  if (left !== undefined && others.length > 0) {
    const names = (chats: readonly string[]) => chats.map((chat) => shownAs(chat, alerting.placeName)).join(", ");
    const moved = `"${first}" from ${names([at])} to ${names(others)}: the route changed`;
    plan.record("move", RULE, [moved, ...waitingIn(plan, others, alerting)].join(". "));
  }
  if (all.some((one) => nameOfNotice(one) === first)) return;
  plan.record("escalate", CLOCK, [...opening, ...sentencesFor(undefined, step, reach, alerting, now)].join(". "));
}

/** The key of what the chat gets in place of the page that waited there. */
const insteadKey = (ofStep: string, at: string) => `${ofStep}${INSTEAD_OF}${at}`;

/** The settings do not have the step of this page any more: no one else can be looked up. */
function postUnchanged(plan: Plan, notice: Notice, key: string, chats: readonly string[]): void {
  const { alertId, kind, mentions, dueAt } = notice;
  for (const destination of chats)
    plan.notices.push({ ...noticeWords(notice), alertId, destination, kind, key, mentions, dueAt });
}

/**
 * The chats of the step that get its page besides the one where it waited. Where a page waits as well, its people are looked up when it is
 * posted. A page that calls these people already is not posted again.
 */
function otherChats(
  { notice: { destination: at }, opening: [first], reach }: StepNow,
  all: readonly Notice[],
  alerting: Alerting,
): string[] {
  const people = groupBy(reach.notified, (one) => one.name);
  if (reach.posted.includes(at) && people.every((person) => isReachedNow(at, person, alerting))) return [];
  const hasPage = (chat: string) =>
    all.some((one) => one.destination === chat && (one.sentAt === undefined || nameOfNotice(one) === first));
  return reach.posted.filter((chat) => !hasPage(chat));
}

function pageChats(plan: Plan, stepNow: StepNow, others: readonly string[], alerting: Alerting): void {
  const { notice, group, number, step, reach, opening, dueAt } = stepNow;
  const { destination: at, waitedSince } = notice;
  const mentioned = mentionedBy(step, reach, alerting, plan.now);
  const key = `${insteadKey(stepNow.key, at)}${reach.isUnreached ? UNREACHED : ""}`;
  for (const destination of new Set([...reach.posted.filter((one) => one === at), ...others, ...reach.elsewhere])) {
    const facts = sentencesFor(destination, step, reach, alerting, plan.now);
    const sentences = [...opening, ...facts, ...lastAt(plan, destination, stepNow, alerting)];
    const words = { sentences, step: number, waitedSince };
    const whom = mentionedAt(destination, mentioned, alerting);
    notify(plan, destination, { key, group, mentioned: whom, words, dueAt }, alerting);
  }
}

function pagePrivately(plan: Plan, stepNow: StepNow, alerting: Alerting): void {
  const { notice, group, number, step, reach, opening, dueAt } = stepNow;
  const { destination: at, waitedSince } = notice;
  for (const { destination, name: ref } of reach.direct) {
    const sentTo = namesOf([{ ref, name: ref }], alerting);
    const facts = sentencesFor(undefined, step, reach, alerting, plan.now);
    const last = [...lastAt(plan, destination, stepNow, alerting), directlyTo(sentTo, alerting)];
    const words = { sentences: [...opening, ...facts, ...last], step: number, sentTo, waitedSince };
    const key = destination === at ? insteadKey(stepNow.key, at) : stepNow.key;
    notify(plan, destination, { key, group, mentioned: [], words, dueAt }, alerting);
  }
}

function lastAt(plan: Plan, chat: string, { notice, ending, left }: StepNow, alerting: Alerting): string[] {
  const isQuiet = () => quietEnd(plan, chat, alerting) !== undefined;
  const isWaited = notice.waitedSince !== undefined && (left === undefined || isQuiet());
  return [...(isWaited ? [WAITED] : []), ...ending];
}
