/** Repeats an alert that is not acknowledged, as new messages: an edited card pings no one. Each route in its own time. */
import { type Alert, isAtLeast, type Notice } from "../../domain/alerts/alert.js";
import { formatDuration } from "../../lib/time/duration.js";
import type { Alerting } from "../alerting.js";
import { CLOCK, type Plan } from "../plan.js";
import { placesOf, urgingOf } from "../urging.js";
import { quietEnd } from "./quiet-hours.js";
import type { Route } from "./route.js";

export function remind(plan: Plan, routes: readonly Route[], alerting: Pick<Alerting, "config" | "inhibitors">): void {
  for (const route of routes) {
    const places = remindedIn(plan, route, routes);
    if (places.length > 0) remindBy(plan, route, { places, isOnly: routes.length === 1 }, alerting);
    else delete urgingOf(plan.alert, route).remindFrom;
  }
}

/** The places where this route reminds of the alert, including places where another route reminds of it, too. */
export function remindedIn(
  plan: Pick<Plan, "alert" | "destinations">,
  route: Route,
  routes: readonly Route[],
): readonly string[] {
  return isReminding(plan, route) ? placesOf(plan, route, routes) : [];
}

function isReminding({ alert }: Pick<Plan, "alert">, { settings: { remind: settings } }: Route): boolean {
  // A paused clock waits for the other side: there is nothing to hurry.
  if (alert.signal.clock?.pausedFor !== undefined) return false;
  return alert.state === "firing" && settings.times > 0 && isAtLeast(alert.severity, settings.at_least);
}

function remindBy(
  plan: Plan,
  route: Route,
  { places, isOnly }: { places: readonly string[]; isOnly: boolean },
  alerting: Pick<Alerting, "config" | "inhibitors">,
): void {
  const { alert, now } = plan;
  const { inhibitors } = alerting;
  const settings = route.settings.remind;
  const urging = urgingOf(alert, route);
  if (urging.reminders >= settings.times) return;
  const ends = places.map((destination) => quietEnd(plan, destination, alerting));
  const loud = places.filter((_, index) => ends[index] === undefined);
  // Only a wait for quiet hours starts in the future; any other future time means that the clock was set back.
  if (loud.length > 0) urging.remindFrom = Math.min(urging.remindFrom ?? now, now);
  urging.remindFrom ??= now;
  const dueAt = urging.remindFrom + settings.every;
  const { decideAt, postAt } = reminderTime(plan, loud, dueAt, settings.every);
  if (now < decideAt) {
    plan.lookAgainAt(decideAt);
    return;
  }
  if (loud.length === 0) {
    // Reminders are not used up in quiet hours: a waiting alert is sent when the hours end, and reminded of after that.
    urging.remindFrom = Math.min(...ends.filter((end) => end !== undefined));
    plan.lookAgainAt(urging.remindFrom + settings.every);
    return;
  }
  urging.reminders++;
  alert.reminders++;
  const count = `${urging.reminders} of ${settings.times}`;
  const text = `${unacknowledged(alert, now)} (reminder ${count}${isOnly ? "" : ` of ${route.name}`})`;
  for (const destination of loud.filter((one) => inhibitors.refusalOf(one, now) === undefined)) {
    const key = `reminder:${route.name}:${dueAt}`;
    plan.notices.push({
      alertId: alert.id,
      destination,
      kind: "reminder",
      key,
      sentences: [text],
      mentions: [],
      dueAt: Math.max(reminderTime(plan, [destination], dueAt, settings.every).postAt, now),
    });
  }
  plan.record("remind", CLOCK, isOnly ? count : `${route.name}: ${count}`);
  // A little late, it keeps to its times, so that routes with the same times remind in one message. Else from now: after a long stop there
  // is one, not one for each that was missed.
  urging.remindFrom = now < postAt + settings.every / 40 ? decideAt : now;
  if (urging.reminders < settings.times) plan.lookAgainAt(urging.remindFrom + settings.every);
}

export const SHARED_EVERY_MS = 10 * 60_000;
const GATHER_MS = 5_000;

/**
 * When a reminder that falls due at this time is decided, and when these chats get it. Where its alert shares a card with others, all of
 * them have the same times, one step after the other, so that alerts that start one after the other are one message; `every` is a number of
 * whole steps. A time is a little after a multiple of the step, because many alerts start at a full hour, and its reminders are decided
 * before, so that the message has all of them.
 */
export function reminderTime(
  { knownPlaces }: Pick<Plan, "knownPlaces">,
  chats: readonly string[],
  dueAt: number,
  every: number,
): { decideAt: number; postAt: number } {
  const isShared = (chat: string) => knownPlaces.some((one) => one.destination === chat && one.isShared);
  if (chats.length === 0 || !chats.every(isShared)) return { decideAt: dueAt, postAt: dueAt };
  const stepMs = Math.max(1, Math.ceil(every / Math.max(2, Math.ceil(every / SHARED_EVERY_MS))));
  const gatherMs = Math.min(GATHER_MS, Math.floor(stepMs / 40));
  const afterMs = Math.floor(stepMs / 20) - gatherMs;
  const decideAt = Math.ceil((dueAt - afterMs) / stepMs) * stepMs + afterMs;
  return { decideAt, postAt: decideAt + gatherMs };
}

function unacknowledged({ firedAt, raisedAt, lapsedAt = 0 }: Alert, now: number): string {
  return `Not acknowledged for ${formatDuration(now - Math.max(firedAt ?? raisedAt, lapsedAt))}`;
}

/** A reminder repeats known facts: a breach and the end of a snooze are news. */
export const isRepeated = ({ kind, key }: Pick<Notice, "kind" | "key">) =>
  kind === "reminder" && key.startsWith("reminder:");

/** The last of the reminders of a route that are posted at once: it covers the others. */
export function newestReminders(notices: readonly Notice[]): Notice[] {
  const series = ({ key }: Notice) => key.slice(0, key.lastIndexOf(":"));
  return notices.filter(
    (one, index) => !isRepeated(one) || !notices.slice(index + 1).some((later) => series(later) === series(one)),
  );
}

/** Reminders of several routes at once become one sentence. */
export const asOneReminder = (text: string) => text.replace(/\)\. Not acknowledged for [^()]+ \((?=reminder )/g, ", ");

/** A reminder that is posted later than it was due counts up to then, as the other times in its message do. */
export function remindedAt(text: string, alert: Alert, now: number): string {
  return text.replace(/^Not acknowledged for [^()]+(?= \()/, unacknowledged(alert, now));
}
