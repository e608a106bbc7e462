/**
 * Cards follow their alert when its routes lead elsewhere, because the configuration changed, while we ran or were down: the new chats get
 * theirs, and cards in the old ones name the new place. A change of the alert itself (it became severe) adds chats, and takes none away.
 */
import { isOpen } from "../../domain/alerts/alert.js";
import type { Alerting } from "../alerting.js";
import { type Plan, RULE } from "../plan.js";
import { shownAs } from "../tell/shown-as.js";
import { type Route, type Routing, routesFor } from "./route.js";

/** True when its messages go to other places from now on, in any state. */
export function move(plan: Plan, routes: readonly Route[], routing: Routing & Pick<Alerting, "placeName">): boolean {
  const { alert } = plan;
  // An alert that is kept quiet stays where it is until it is loud again.
  if (!isOpen(alert.state) || alert.state === "silenced" || alert.state === "inhibited") return false;
  const to = destinationsOf(routes);
  if (to.length === 0) return false;
  const before = alert.routedTo;
  alert.routedTo = to;
  if (before === undefined) return false;

  const wanted = destinationsOf(routesFor(plan.was, routing));
  const left = before.filter((destination) => !wanted.includes(destination) && !to.includes(destination));
  const isWider = wanted.some((destination) => !before.includes(destination));
  const isThere = (one: string) =>
    plan.knownPlaces.some(
      ({ destination, isWaiting, cardId }) => destination === one && (isWaiting || cardId !== undefined),
    );
  const names = (some: readonly string[]) => some.map((one) => shownAs(one, routing.placeName)).join(", ");
  for (const destination of left.filter(isThere)) plan.leave(destination, to);
  if (plan.left.length > 0)
    plan.record("move", RULE, `from ${names(plan.left.map(({ destination }) => destination))} to ${names(to)}`);
  return isWider || left.length > 0;
}

const destinationsOf = (routes: readonly Route[]) => [...new Set(routes.flatMap(({ to }) => to))];
