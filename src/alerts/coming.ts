/** What comes next of an alert by itself, and when: by the quiet hours that hold now, not while all chats that would get it are quiet. */
import type { Plan } from "./plan.js";
import { quietUntil } from "./quiet-hours.js";
import { type Around, reachOf } from "./reach.js";
import type { Route } from "./steps/route.js";
import { type NumberedStep, nextStepOf, placesOf, stepsByThemselves, urgingOf } from "./urging.js";

export interface Coming {
  reminderAt: number | undefined;
  /** The first step that has a time. `isLate`: it waits for the end of quiet hours. */
  step: (NumberedStep & { at: number; isLate: boolean }) | undefined;
}

export function comingOf(
  plan: Pick<Plan, "alert" | "destinations">,
  route: Route,
  routes: readonly Route[],
  around: Around,
): Coming {
  const { alert } = plan;
  const { every, times } = route.settings.remind;
  const { remindFrom, reminders, since = 0 } = urgingOf(alert, route);
  const there = placesOf(plan, route, routes);
  const quietEnd = (chats: readonly string[], at: number): number | undefined => {
    const { destinations } = around.config;
    const ends = chats.flatMap((chat) => quietUntil(destinations[chat]?.quiet, alert.severity, at) ?? []);
    return chats.length > 0 && ends.length === chats.length ? Math.min(...ends) : undefined;
  };

  let reminderAt = remindFrom !== undefined && reminders < times ? remindFrom + every : undefined;
  const end = reminderAt && quietEnd(there, reminderAt);
  if (end !== undefined) reminderAt = end + every;

  const next = stepsByThemselves(alert, route).find(({ step }) => step.after !== undefined);
  if (next?.step.after === undefined) return { reminderAt, step: undefined };
  const dueAt = Math.max(alert.escalateFrom ?? alert.firedAt ?? alert.raisedAt, since) + next.step.after;
  const { posted, elsewhere, arriving } = reachOf(next.step, there, around, dueAt);
  const until = quietEnd([...posted, ...elsewhere, ...arriving.map(({ destination }) => destination)], dueAt);
  return { reminderAt, step: { ...next, at: until ?? dueAt, isLate: until !== undefined } };
}

/** Cards show what comes next: they are drawn again when the settings have another step, or it comes at another time. */
export function showNext(plan: Plan, route: Route, routes: readonly Route[], around: Around): void {
  const urging = urgingOf(plan.alert, route);
  const { step, number } = nextStepOf(plan.alert, route) ?? {};
  const { reminderAt, step: timed } = comingOf(plan, route, routes, around);
  const of = route.settings.escalate.length;
  const next = [number, of, step?.after, step?.reminders, reminderAt, timed?.at].join();
  if (urging.next !== undefined && urging.next !== next) plan.redraw();
  urging.next = next;
}
