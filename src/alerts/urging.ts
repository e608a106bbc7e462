/** How far each route of an alert has gone without an acknowledgement, and in which chats. */
import { type Alert, isOpen, type Urging } from "../domain/alert.js";
import type { Plan } from "./plan.js";
import type { Route } from "./steps/route.js";

/** No one is to be notified of this open alert for now, and no one asked for an escalation since. */
export function isCalledOff({ state, called }: Pick<Alert, "state" | "called">): boolean {
  return isOpen(state) && state !== "firing" && state !== "warned" && called === undefined;
}

/** A route that is taken later than the others counts from then: what it would have done before is not made up for. */
export function takeRoutes({ alert, now }: Plan, routes: readonly Route[]): void {
  const isFirst = alert.urged === undefined;
  const isLate = !isFirst && alert.state === "firing" && alert.firedAt !== now;
  const urged = { ...alert.urged };
  for (const { name } of routes) urged[name] ??= { reminders: 0, steps: 0, since: isLate ? now : undefined };
  // An alert of the time when they were counted once for all.
  if (isFirst && routes[0]) urged[routes[0].name] = { reminders: alert.reminders, steps: alert.steps };
  alert.urged = urged;
}

export function urgingOf(alert: Pick<Alert, "urged">, { name }: Pick<Route, "name">): Urging {
  return alert.urged?.[name] ?? { reminders: 0, steps: 0 };
}

/** A person has it, or had it: reminders start again, escalation continues where it was. */
export function beginAnew(alert: Alert): void {
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

/** Where it is told because of this route. What no route leads to (a fallback, a former route) is the first one's. */
export function placesOf(plan: Plan, route: Route, routes: readonly Route[]): string[] {
  const leads = (one: Route, destination: string) =>
    one.to.includes(destination) ||
    one.settings.escalate.slice(0, urgingOf(plan.alert, one).steps).some(({ to }) => to.includes(destination));
  return plan.destinations.filter(
    (destination) =>
      leads(route, destination) || (route === routes[0] && !routes.some((one) => leads(one, destination))),
  );
}
