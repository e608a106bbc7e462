/**
 * A warning that breaks, an alert whose snooze or silence ended, one that fires and joins a card of many, and a clock that is overdue again
 * on its former card, are posted as a new message: their card is only edited, which notifies no one. The message is the first notice of the
 * breach, and may be the only one after a snooze. In quiet hours it waits for their end.
 */
import { type Alert, isAtLeast, type NewNotice, type Notice } from "../../domain/alerts/alert.js";
import { noticeText } from "../../domain/alerts/notice-words.js";
import type { Alerting } from "../alerting.js";
import type { AlertsConfig } from "../config.js";
import type { Plan } from "../plan.js";
import { accountsOf, knownAs } from "../rota/people.js";
import { WAITED } from "./escalate.js";
import { quietEnd } from "./quiet-hours.js";

const LOUD = "high";

export function breach(plan: Plan, alerting: Pick<Alerting, "config">): void {
  const { alert, now, knownPlaces, notices, joinedAt } = plan;
  const news = noticeOf(plan, alerting);
  const there = new Set(knownPlaces.filter(({ cardId }) => cardId !== undefined).map(({ destination }) => destination));
  for (const destination of plan.destinations) {
    const what = there.has(destination) ? news : destination === joinedAt ? breachOf(plan) : undefined;
    // An escalation at the same moment is a new message already, and so is a card that is not posted yet.
    const isPosted = notices.some((notice) => notice.destination === destination);
    if (what === undefined || isPosted) continue;
    const end = quietEnd(plan, destination, alerting);
    const waiting = end === undefined ? {} : { sentences: [...what.sentences, WAITED], waitedSince: now };
    notices.push({ alertId: alert.id, destination, kind: "reminder", ...what, ...waiting, dueAt: end ?? now });
  }
}

type Words = Pick<NewNotice, "key" | "sentences" | "mentions">;

function noticeOf(plan: Plan, { config }: Pick<Alerting, "config">): Words | undefined {
  const { alert, now, isNew, events } = plan;
  const { woken } = alert;
  const isFiring = alert.state === "firing";
  // The person who wakes an alert knows that it is awake. An alert that a rule keeps quiet is announced when the rule ends.
  if (woken && alert.state !== "silenced" && alert.state !== "inhibited") {
    delete alert.woken;
    const sentences = [`The snooze ended (${woken.by} snoozed it)`];
    const mentions = snoozer(woken, config, now);
    if (isFiring) return { key: `wake:${now}`, sentences, mentions };
    // The alert is acknowledged as before, and the person who snoozed it is notified now.
    if (alert.state !== "acked") return undefined;
    return { key: wokenKey(now), sentences, mentions };
  }
  const hasBroken = !isNew && events.some(({ event }) => event === "fire" || event === "reopen");
  if (hasBroken) return breachOf(plan);
  // People who saw its card before know it as silent.
  const loud = events.find(({ event, to }) => (event === "unsilence" || event === "release") && to === "firing");
  const why = loud?.event === "release" ? "The alert that explained it ended" : "The silence ended";
  const what = loud && breachOf(plan);
  return what && { ...what, key: `${BREACH}${now}`, sentences: [why, ...what.sentences] };
}

function breachOf({ alert, now }: Plan): Words | undefined {
  if (alert.state !== "firing" || !isAtLeast(alert.severity, LOUD)) return undefined;
  const text = alert.signal.clock === undefined ? "It fires now" : "Overdue now";
  return { key: `${BREACH}${alert.firedAt ?? now}`, sentences: [text], mentions: [] };
}

const BREACH = "breach:";

/** A page about the alert is posted in the same chat at the same time, and notifies its readers of the breach. */
export const isInPage = ({ alertId, key }: Notice, posted: readonly Notice[]) =>
  key.startsWith(BREACH) && posted.some((one) => one.alertId === alertId && one.kind === "escalation");

const WOKEN = "wake:acked:";
const wokenKey = (at: number) => `${WOKEN}${at}`;

/** The snooze of an acknowledged alert ended, and nothing changed since: this notice is for the person who snoozed it. */
export function isOfWoken({ key }: Pick<NewNotice, "key">, { state, since }: Pick<Alert, "state" | "since">): boolean {
  return state === "acked" && key === wokenKey(since);
}

/** Like `isOfWoken`, until the acknowledgement ended: the notice mentions that it has ended. */
export function wasOfWoken(notice: Pick<NewNotice, "key">, alert: Pick<Alert, "state" | "since">): boolean {
  return notice.key.startsWith(WOKEN) && !isOfWoken(notice, alert);
}

/** The state is that of the moment in which the message is sent, which may be long after the end of the snooze. */
export function wokenText(notice: NewNotice, alert: Alert): string {
  const text = noticeText(notice);
  return isOfWoken(notice, alert) ? `${text}. It is still acknowledged by ${alert.ack?.by}` : text;
}

/** All accounts of the person, because the alert may be in chats of several platforms. */
function snoozer({ by, byId }: NonNullable<Alert["woken"]>, config: AlertsConfig, now: number): string[] {
  if (byId === undefined) return [];
  const person = knownAs(byId, config);
  const accounts = person === undefined ? [{ ref: byId, name: by }] : accountsOf([person], config, now);
  return accounts.map(({ ref, name }) => `${ref}|${name}`);
}
