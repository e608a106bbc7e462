/** How far each route of an alert has gone without an acknowledgement, and in which chats. */
import { type Alert, isAtLeast, isOpen, type KnownPlace, type TakenStep, type Urging } from "../domain/alerts/alert.js";
import type { Plan } from "./plan.js";
import type { Step } from "./rota/reach.js";
import type { Route } from "./steps/route.js";

/** This open alert notifies no one for now, and no person has asked for an escalation since. */
export function isCalledOff({ state, called }: Pick<Alert, "state" | "called">): boolean {
  return isOpen(state) && state !== "firing" && state !== "warned" && called === undefined;
}

/** A route that is taken later than the others counts from then: its earlier steps and reminders are not made up for. */
export function takeRoutes({ alert, now }: Plan, routes: readonly Route[]): void {
  const isFirst = alert.urged === undefined;
  const isLate = !isFirst && alert.state === "firing" && alert.firedAt !== now;
  const urged = { ...alert.urged };
  for (const { name } of routes) urged[name] ??= { reminders: 0, steps: 0, since: isLate ? now : undefined };
  // A stored alert of an earlier version, which counted all routes together.
  if (isFirst && routes[0]) urged[routes[0].name] = { reminders: alert.reminders, steps: alert.steps };
  // Before the settings change: from then on they do not show which steps those were.
  for (const { name, settings } of routes) {
    const urging = urged[name];
    if (urging && urging.steps > 0) urging.taken ??= takenSteps(urging, settings.escalate);
  }
  alert.urged = urged;
}

export function urgingOf(alert: Pick<Alert, "urged">, { name }: Pick<Route, "name">): Urging {
  return alert.urged?.[name] ?? { reminders: 0, steps: 0 };
}

export interface NumberedStep {
  step: Step;
  /** The step's place in the settings, from 1. */
  number: number;
}

/** The steps of the route, by the current settings, that were not taken. */
export function stepsToCome(
  alert: Pick<Alert, "urged">,
  route: Pick<Route, "name" | "settings">,
): readonly NumberedStep[] {
  const { escalate } = route.settings;
  const taken = matched(takenSteps(urgingOf(alert, route), escalate), escalate);
  return escalate.flatMap((step, index) => (taken[index] === undefined ? { step, number: index + 1 } : []));
}

/** The first step to come, which a person takes. */
export const nextStepOf = (
  alert: Pick<Alert, "urged">,
  route: Pick<Route, "name" | "settings">,
): NumberedStep | undefined => stepsToCome(alert, route)[0];

/** The steps to come that need no request by a person: not after more reminders than are sent of such an alert. */
export function stepsByThemselves(
  alert: Pick<Alert, "urged" | "severity">,
  route: Pick<Route, "name" | "settings">,
): readonly NumberedStep[] {
  const { times, at_least } = route.settings.remind;
  const sent = isAtLeast(alert.severity, at_least) ? times : 0;
  return stepsToCome(alert, route).filter(
    ({ step: { after, reminders = 0 } }) => after !== undefined || reminders <= sent,
  );
}

/** The stored data of a step that was taken, by its place among those. */
export const takenAt = ({ taken, steps }: Urging, place: number): TakenStep | undefined => taken?.at(place - steps - 1);

/** The place of the last taken step that notified none of its people. */
export function lastUnreached({ taken = [], steps }: Urging): number | undefined {
  const index = taken.findLastIndex(({ isUnreached }) => isUnreached);
  return index < 0 ? undefined : steps - taken.length + index + 1;
}

/** A step that was taken, by its place among those (the last is `steps`): as it was then, and as the settings have it now. */
export function stepTaken(
  urging: Urging,
  place: number,
  escalate: readonly Step[],
): { then: TakenStep | undefined; now: Step | undefined } {
  const taken = takenSteps(urging, escalate);
  const then = taken.at(place - urging.steps - 1);
  return { then, now: then && escalate[matched(taken, escalate).indexOf(then)] };
}

const takenSteps = ({ taken, steps }: Urging, escalate: readonly Step[]): TakenStep[] =>
  taken ?? escalate.slice(0, steps).map((step, index) => asTaken(step, index + 1));

export const asTaken = ({ after, reminders, to, mention, webhook }: Step, number: number): TakenStep => ({
  number,
  after,
  reminders,
  to,
  mention,
  webhook,
});

/** For each step of the settings its taken step; undefined: it was not taken. Two equal steps are two. */
function matched(taken: readonly TakenStep[], escalate: readonly Step[]): (TakenStep | undefined)[] {
  const left = new Set(taken);
  const found = escalate.map((): TakenStep | undefined => undefined);
  for (const isTaken of [isSame, isReaddressed, isCovered])
    for (const [index, step] of escalate.entries()) {
      const one = found[index] === undefined && [...left].find((other) => isTaken(step, other));
      if (!one) continue;
      left.delete(one);
      found[index] = one;
    }
  return found;
}

const wordsOf = ({ after, reminders, to, mention }: Step | TakenStep) =>
  JSON.stringify([after, reminders, [...to].sort(), [...mention].sort()]);

const isSame = (step: Step, taken: TakenStep) => isReaddressed(step, taken) && step.webhook === taken.webhook;

/** The step is the same, but the address of its webhook may have changed: notices that wait for the old address go to the new one. */
const isReaddressed = (step: Step, taken: TakenStep) =>
  wordsOf(step) === wordsOf(taken) && (step.webhook === undefined) === (taken.webhook === undefined);

/**
 * The step calls no other people, posts nowhere else and is not later than the taken one: it was moved to an earlier time, or people were
 * taken out.
 */
function isCovered(step: Step, taken: TakenStep): boolean {
  const isIn = (some: readonly string[], all: readonly string[]) =>
    (some.length > 0 || all.length === 0) && some.every((one) => all.includes(one));
  const isLater = (step.after ?? 0) > (taken.after ?? 0) || (step.reminders ?? 0) > (taken.reminders ?? 0);
  return !isLater && step.webhook === taken.webhook && isIn(step.mention, taken.mention) && isIn(step.to, taken.to);
}

/** A person has the alert, or had it: reminders start again, escalation continues where it was. */
export function restart(alert: Alert): void {
  remindAnew(alert);
  for (const urging of Object.values(alert.urged ?? {})) delete urging.since;
}

export function remindAnew(alert: Alert): void {
  alert.reminders = 0;
  for (const urging of Object.values(alert.urged ?? {})) {
    urging.reminders = 0;
    delete urging.remindFrom;
  }
}

/** A snooze that ends stops no step for good: each comes as long after it as it was away when the snooze started. */
export function resumeAfterSnooze(alert: Alert, now: number): void {
  if (alert.snooze === undefined || alert.firedAt === undefined) return;
  const { at } = alert.snooze;
  const later = (from: number) => from + now - Math.max(from, at);
  alert.escalateFrom = later(alert.escalateFrom ?? alert.firedAt);
  for (const urging of Object.values(alert.urged ?? {}))
    if (urging.since !== undefined) urging.since = later(urging.since);
}

/** The places that show the alert because of this route. A place that no route leads to (a fallback, a former route) is the first one's. */
export function placesOf(plan: Pick<Plan, "alert" | "destinations">, route: Route, routes: readonly Route[]): string[] {
  const leads = (one: Route, destination: string) =>
    one.to.includes(destination) ||
    takenSteps(urgingOf(plan.alert, one), one.settings.escalate).some(({ to }) => to.includes(destination));
  return plan.destinations.filter(
    (destination) =>
      leads(route, destination) || (route.name === routes[0]?.name && !routes.some((one) => leads(one, destination))),
  );
}

/** The chats that the alert moved to; undefined while this chat shows it. */
export const leftFor = (places: readonly KnownPlace[], chat: string): readonly string[] | undefined =>
  places.find((one) => one.destination === chat && !one.isWaiting && one.cardId === undefined)?.movedTo;
