/** The places of an alert, and the group that it shares them with: one for each destination of its routes, once it is to be sent at all. */
import { isOpen, type Place } from "../../domain/alerts/alert.js";
import { labelsOf } from "../matchers.js";
import type { Plan } from "../plan.js";
import { nextStepOf } from "../urging.js";
import type { Route } from "./route.js";

/** `isMoving`: its cards follow it, regardless of its owner. */
export function group(plan: Plan, routes: readonly Route[], isMoving: boolean): Place[] {
  const { alert, now, knownPlaces } = plan;
  const isLoud = alert.state === "warned" || alert.state === "firing";
  const isHad = alert.state === "acked" || alert.state === "snoozed";
  const isTold = isLoud || (isMoving && isHad);
  const there = new Set(knownPlaces.filter(({ cardId }) => cardId !== undefined).map(({ destination }) => destination));
  return routes.flatMap((route) => {
    const { name, settings, to } = route;
    // A person may notify others of a silenced alert as well.
    const isAsked = alert.escalateNow !== undefined && isOpen(alert.state) && nextStepOf(alert, route) !== undefined;
    if (!isTold && !isAsked) return [];
    // Against flapping: each route has its own waiting time.
    const heldUntil = alert.raisedAt + settings.hold;
    if (now < heldUntil && !isAsked) {
      plan.lookAgainAt(heldUntil);
      return [];
    }
    return to
      .filter((destination) => !there.has(destination))
      .map((destination): Place => {
        there.add(destination);
        return {
          alertId: alert.id,
          destination,
          group: groupOf(name, settings.group_by, plan),
          kind: "now",
          dueAt: now,
        };
      });
  });
}

/** `route|source=sla|policy=replies`. */
function groupOf(route: string, by: readonly string[], { alert }: Plan): string {
  const labels = labelsOf(alert);
  return [route, ...by.map((name) => `${name}=${labels[name] ?? ""}`)].join("|");
}
