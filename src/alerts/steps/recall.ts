/** A page that waited is about to be posted, and other people are on call now: its step notifies these, and its page gets new words. */
import type { Notice } from "../../domain/alerts/alert.js";
import { isPrivatePage, noticeWords } from "../../domain/alerts/notice-words.js";
import { groupBy } from "../../lib/group-by.js";
import type { Alerting } from "../alerting.js";
import { CLOCK, type Plan, RULE } from "../plan.js";
import { askReaders, isReachedNow, reachOf } from "../rota/reach.js";
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
  // The other chats have other quiet hours.
  const dueAt = left === undefined ? notice.dueAt : undefined;
  const ofStep = stepIn(notice.key) ?? notice.key;
  const { route: name, step: place } = stepOf(ofStep) ?? {};
  const route = routes.find((one) => one.name === name);
  const keyOf = (destination: string) => (destination === at ? `${ofStep}${INSTEAD_OF}${at}` : ofStep);
  const urging = urgingOf(alert, { name: name ?? "" });
  const { then, now: step } = stepTaken(urging, Number(place), route?.settings.escalate ?? []);
  if (route === undefined || then === undefined || step === undefined) {
    const { alertId, kind, mentions } = notice;
    for (const destination of left ?? [at])
      plan.notices.push({
        ...noticeWords(notice),
        alertId,
        destination,
        kind,
        key: keyOf(at),
        mentions,
        dueAt: notice.dueAt,
      });
    return;
  }
  const all = (await alerting.store.noticesWith(alert.id, ofStep)).filter(({ key }) => stepIn(key) === ofStep);
  if (all.some(({ destination, key }) => destination === at && key.startsWith(keyOf(at)))) return;

  const isPrivate = (chat: string) => all.some((one) => one.destination === chat && isPrivatePage(one));
  const there = placesOf(plan, route, routes).filter((chat) => !isPrivate(chat));
  await askReaders(step, there, alerting);
  const reach = reachOf(step, there, alerting, now);
  note(then, reach, alerting);
  const names = namesIn(step, reach, alerting);
  const first = titleOf(then.number, names, route, routes);
  const isSame = first === nameOfNotice(notice);
  const changed = isSame || names === "" ? [] : [changedText(names)];
  const ending = urging.steps === Number(place) ? lastText(alert, route) : [];
  const { waitedSince } = notice;
  const isQuiet = (chat: string) => quietEnd(plan, chat, alerting) !== undefined;
  const lastAt = (chat: string) => {
    const isWaited = waitedSince !== undefined && (left === undefined || isQuiet(chat));
    return [...(isWaited ? [WAITED] : []), ...ending];
  };
  const end = reach.isUnreached ? UNREACHED : "";
  const group = `${route.name}|escalated`;
  const mentioned = mentionedBy(step, reach, alerting, now);
  const people = groupBy(reach.notified, (one) => one.name);
  const isCalledHere = reach.posted.includes(at) && people.every((person) => isReachedNow(at, person, alerting));
  // Where the page waits as well, its people are looked up when it is posted. A page that calls these people already is not posted again.
  const isThere = (chat: string) => (one: Notice) =>
    one.destination === chat && (one.sentAt === undefined || nameOfNotice(one) === first);
  const others = isCalledHere ? [] : reach.posted.filter((one) => !all.some(isThere(one)));
  for (const destination of new Set([...reach.posted.filter((one) => one === at), ...others, ...reach.elsewhere])) {
    const sentences = [
      first,
      ...changed,
      ...sentencesFor(destination, step, reach, alerting, now),
      ...lastAt(destination),
    ];
    const whom = mentionedAt(destination, mentioned, alerting);
    const key = `${ofStep}${INSTEAD_OF}${at}${end}`;
    notify(
      plan,
      destination,
      { key, group, mentioned: whom, words: { sentences, step: then.number, waitedSince }, dueAt },
      alerting,
    );
  }
  for (const { destination, name: ref } of reach.direct) {
    const sentTo = namesOf([{ ref, name: ref }], alerting);
    const facts = sentencesFor(undefined, step, reach, alerting, now);
    const sentences = [first, ...changed, ...facts, ...lastAt(destination), directlyTo(sentTo, alerting)];
    const words = { sentences, step: then.number, sentTo, waitedSince };
    notify(plan, destination, { key: keyOf(destination), group, mentioned: [], words, dueAt }, alerting);
  }
  if (left !== undefined && others.length > 0) {
    const names = (chats: readonly string[]) => chats.map((chat) => shownAs(chat, alerting.placeName)).join(", ");
    const moved = `"${first}" from ${names([at])} to ${names(others)}: the route changed`;
    plan.record("move", RULE, [moved, ...waitingIn(plan, others, alerting)].join(". "));
  }
  if (all.some((one) => nameOfNotice(one) === first)) return;
  plan.record(
    "escalate",
    CLOCK,
    [first, ...changed, ...sentencesFor(undefined, step, reach, alerting, now)].join(". "),
  );
}
