/** Tells others, step by step, while nobody acknowledges. After the last step it says so, once. */
import type { Alerting } from "../alerting.js";
import type { RouteConfig } from "../config.js";
import { accountsOf } from "../people.js";
import { CLOCK, type Plan } from "../plan.js";
import { quietEnd, quietHours } from "./quiet-hours.js";
import type { Route } from "./route.js";

type Step = RouteConfig["escalate"][number];

export function escalate(plan: Plan, [route]: readonly Route[], alerting: Alerting): void {
  const { alert, now } = plan;
  const steps = route?.settings.escalate ?? [];
  const isAsked = alert.escalateNow === true;
  delete alert.escalateNow;
  if (isAsked && steps[alert.steps] === undefined)
    plan.record("escalate", CLOCK, "there is no further step: nobody is left to tell");
  const isOpenToAll = alert.state === "firing" || (isAsked && alert.state !== "resolved" && alert.state !== "expired");
  if (!isOpenToAll || plan.destinations.length === 0) return;
  alert.escalateFrom ??= alert.firedAt ?? now;
  for (let asked = isAsked; ; asked = false) {
    const step = steps[alert.steps];
    if (step === undefined) return;
    const dueAt = dueAtOf(step, alert.escalateFrom, alert.reminders);
    if (!asked && (dueAt === undefined || now < dueAt)) {
      if (alert.state === "firing") plan.lookAt(dueAt);
      return;
    }
    take(plan, step, steps.length, route as Route, alerting);
  }
}

/** By time or by count, whichever is reached; a step without either comes at once. */
function dueAtOf({ after, reminders }: Step, from: number, reminded: number): number | undefined {
  if (reminders !== undefined && reminded >= reminders) return from;
  if (after !== undefined) return from + after;
  return reminders === undefined ? from : undefined;
}

function take(plan: Plan, step: Step, count: number, route: Route, alerting: Alerting): void {
  const { alert, now } = plan;
  const number = ++alert.steps;
  const isLast = number === count;
  if (isLast) alert.isExhausted = true;
  const mentioned = accountsOf(step.mention, alerting.config, now);
  const names = [...new Set(mentioned.map(({ name }) => name))].join(", ");
  const text = [
    `Escalated: step ${number} of ${count}${names ? ` (${names})` : ""}`,
    ...(isLast ? ["This was the last step: nobody else will be told"] : []),
  ].join(". ");
  const there = new Set(plan.destinations);
  for (const destination of step.to.filter((one) => !there.has(one)))
    quietHours(
      plan,
      { alertId: alert.id, destination, group: `${route.name}|escalated`, kind: "now", dueAt: now },
      alerting,
    );
  const destinations = [
    ...(step.to.length > 0 ? step.to : there),
    ...(step.webhook === undefined ? [] : [step.webhook]),
  ];
  const key = `escalation:${alert.escalateFrom}:${number}`;
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
  plan.record("escalate", CLOCK, text);
}
