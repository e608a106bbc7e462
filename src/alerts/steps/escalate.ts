/** Tells others, step by step, while nobody acknowledges: each route its own steps. After the last step of one it says so, once. */
import type { Actor, Urging } from "../../domain/alert.js";
import type { Alerting } from "../alerting.js";
import type { RouteConfig } from "../config.js";
import { accountsOf } from "../people.js";
import { CLOCK, type Plan } from "../plan.js";
import { placesOf, urgingOf } from "../urging.js";
import { quietEnd, quietHours } from "./quiet-hours.js";
import type { Route } from "./route.js";

type Step = RouteConfig["escalate"][number];

export function escalate(plan: Plan, routes: readonly Route[], alerting: Alerting): void {
  const { alert, now } = plan;
  const asker = alert.escalateNow;
  const isAsked = asker !== undefined;
  delete alert.escalateNow;
  if (asker && routes.every((route) => nextStep(plan, route) === undefined))
    plan.record("escalate", asker, "there is no further step: nobody is left to tell");
  const isOpenToAll = alert.state === "firing" || (isAsked && alert.state !== "resolved" && alert.state !== "expired");
  if (!isOpenToAll || plan.destinations.length === 0) return;
  alert.escalateFrom ??= alert.firedAt ?? now;
  for (const route of routes) escalateBy(plan, route, { routes, asker }, alerting);
}

function escalateBy(
  plan: Plan,
  route: Route,
  { routes, asker }: { routes: readonly Route[]; asker: Actor | undefined },
  alerting: Alerting,
): void {
  const { alert, now } = plan;
  // Not told yet where this one leads: what follows waits for that.
  if (route.settings.escalate.length === 0 || placesOf(plan, route, routes).length === 0) return;
  for (let by = asker; ; by = undefined) {
    const step = nextStep(plan, route);
    if (step === undefined) return;
    const urging = urgingOf(alert, route);
    const dueAt = dueAtOf(step, Math.max(alert.escalateFrom ?? now, urging.since ?? 0), urging.reminders);
    if (by === undefined && (dueAt === undefined || now < dueAt)) {
      if (alert.state === "firing") plan.lookAt(dueAt);
      return;
    }
    take(plan, step, { route, routes, urging, by: by ?? CLOCK }, alerting);
  }
}

function nextStep({ alert }: Plan, route: Route): Step | undefined {
  return route.settings.escalate[urgingOf(alert, route).steps];
}

/** By time or by count, whichever is reached; a step without either comes at once. */
function dueAtOf({ after, reminders }: Step, from: number, reminded: number): number | undefined {
  if (reminders !== undefined && reminded >= reminders) return from;
  if (after !== undefined) return from + after;
  return reminders === undefined ? from : undefined;
}

function take(
  plan: Plan,
  step: Step,
  { route, routes, urging, by }: { route: Route; routes: readonly Route[]; urging: Urging; by: Actor },
  alerting: Alerting,
): void {
  const { alert, now } = plan;
  const count = route.settings.escalate.length;
  const there = placesOf(plan, route, routes);
  const number = ++urging.steps;
  alert.steps++;
  const mentioned = accountsOf(step.mention, alerting.config, now);
  const names = [...new Set(mentioned.map(({ name }) => name))].join(", ");
  const of = routes.length === 1 ? "" : ` of ${route.name}`;
  const text = [
    `Escalated: step ${number} of ${count}${of}${names ? ` (${names})` : ""}`,
    ...(number === count ? ["This was the last step: nobody else will be told"] : []),
  ].join(". ");
  const told = new Set(plan.destinations);
  for (const destination of step.to.filter((one) => !told.has(one)))
    quietHours(
      plan,
      { alertId: alert.id, destination, group: `${route.name}|escalated`, kind: "now", dueAt: now },
      alerting,
    );
  const destinations = [
    ...(step.to.length > 0 ? step.to : there),
    ...(step.webhook === undefined ? [] : [step.webhook]),
  ];
  const key = `escalation:${alert.escalateFrom}:${route.name}:${number}`;
  for (const destination of destinations)
    plan.notices.push({
      alertId: alert.id,
      destination,
      kind: "escalation",
      key,
      text,
      mentions: mentioned.map(({ ref, name }) => `${ref}|${name}`),
      dueAt: quietEnd(plan, destination, alerting) ?? now,
    });
  plan.record("escalate", by, text);
}
