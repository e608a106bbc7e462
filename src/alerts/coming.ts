/**
 * The next automatic messages of an alert, and their times: by the quiet hours that hold now, not while all chats that would get them are
 * quiet.
 */
import type { Plan } from "./plan.js";
import { quietUntil } from "./quiet-until.js";
import { type Around, reachOf } from "./rota/reach.js";
import { remindedIn, reminderTime } from "./steps/remind.js";
import type { Route } from "./steps/route.js";
import { type NumberedStep, nextStepOf, placesOf, stepsByThemselves, urgingOf } from "./urging.js";

export type Coming = {
  route: Route;
  /** The chats that show the alert because of the route; for a reminder, the chats where it is posted. */
  places: readonly string[];
  at: number;
} & (
  | { kind: "reminder" }
  /** `isLate`: the step waits for the end of quiet hours. */
  | ({ kind: "step"; isLate: boolean } & NumberedStep)
  /** The step comes with a reminder. */
  | ({ kind: "counted"; reminders: number } & NumberedStep)
  /** The route has no further step. */
  | { kind: "end" }
);

type Shown = Pick<Plan, "alert" | "destinations" | "knownPlaces">;

const LAST = Number.MAX_SAFE_INTEGER;

/** In order of time; empty for an alert that needs no operator now. */
export function comingOf(plan: Shown, routes: readonly Route[], around: Around): Coming[] {
  const { state, signal } = plan.alert;
  if (state !== "firing" || signal.clock?.pausedFor !== undefined) return [];
  const coming = routes.flatMap((route) => {
    const reminder = reminderOf(plan, route, remindedIn(plan, route, routes), around);
    return [...reminder, ...stepsOf(plan, route, { routes, reminderAt: reminder[0]?.at }, around)];
  });
  return coming.sort((a, b) => a.at - b.at);
}

function reminderOf(plan: Shown, route: Route, places: readonly string[], around: Around): Coming[] {
  const { every, times } = route.settings.remind;
  const { alert } = plan;
  const { remindFrom, reminders } = urgingOf(alert, route);
  if (remindFrom === undefined || reminders >= times || places.length === 0) return [];
  const dueAt = remindFrom + every;
  const end = quietEnd(alert, places, dueAt, around);
  const at = end === undefined ? dueAt : end + every;
  const loud = places.filter((chat) => quietEnd(alert, [chat], at, around) === undefined);
  return [{ kind: "reminder", route, places, at: reminderTime(plan, loud, at, every).postAt }];
}

function stepsOf(
  plan: Shown,
  route: Route,
  { routes, reminderAt = LAST }: { routes: readonly Route[]; reminderAt: number | undefined },
  around: Around,
): Coming[] {
  const { alert } = plan;
  const { escalate, remind } = route.settings;
  const { reminders, since = 0, steps } = urgingOf(alert, route);
  const places = placesOf(plan, route, routes);
  const left = stepsByThemselves(alert, route);
  const coming: Coming[] = [];
  const [first] = left;
  const counted = first?.step.after === undefined && first?.step.reminders;
  if (counted) {
    const at = reminderAt + (counted - reminders - 1) * remind.every;
    coming.push({ kind: "counted", route, places, at, ...first, reminders: counted });
  }
  const next = left.find(({ step }) => step.after !== undefined);
  if (next?.step.after !== undefined) {
    const dueAt = Math.max(alert.escalateFrom ?? alert.firedAt ?? alert.raisedAt, since) + next.step.after;
    const { posted, elsewhere, arriving } = reachOf(next.step, places, around, dueAt);
    const chats = [...posted, ...elsewhere, ...arriving.map(({ destination }) => destination)];
    const until = quietEnd(alert, chats, dueAt, around);
    coming.push({ kind: "step", route, places, at: until ?? dueAt, isLate: until !== undefined, ...next });
  }
  if (left.length === 0 && steps + escalate.length > 0) coming.push({ kind: "end", route, places, at: LAST });
  return coming;
}

/** The first end of quiet hours, when all of these chats are quiet. */
function quietEnd(
  { severity }: Plan["alert"],
  chats: readonly string[],
  at: number,
  { config: { destinations } }: Around,
): number | undefined {
  const ends = chats.flatMap((chat) => quietUntil(destinations[chat]?.quiet, severity, at) ?? []);
  return chats.length > 0 && ends.length === chats.length ? Math.min(...ends) : undefined;
}

/** Cards show the next message: they are drawn again when the settings have another step, or it comes at another time. */
export function showNext(plan: Plan, route: Route, routes: readonly Route[], around: Around): void {
  const urging = urgingOf(plan.alert, route);
  const { step, number } = nextStepOf(plan.alert, route) ?? {};
  const coming = comingOf(plan, routes, around).filter((one) => one.route.name === route.name);
  const atOf = (kind: Coming["kind"]) => coming.find((one) => one.kind === kind)?.at;
  const of = route.settings.escalate.length;
  const next = [number, of, step?.after, step?.reminders, atOf("reminder"), atOf("step")].join();
  if (urging.next !== undefined && urging.next !== next) plan.redraw();
  urging.next = next;
}
