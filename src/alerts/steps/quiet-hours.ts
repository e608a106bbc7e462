/** In the quiet hours of a destination only severe alerts are sent there; the others wait for the catch-up when they end. */
import type { Place } from "../../domain/alerts/alert.js";
import type { Alerting } from "../alerting.js";
import type { Plan } from "../plan.js";
import { quietUntil } from "../quiet-until.js";

export function quietHours(plan: Plan, place: Place, { config }: Pick<Alerting, "config">): void {
  const until = quietEnd(plan, place.destination, { config });
  const known = plan.knownPlaces.find(({ destination }) => destination === place.destination);
  const decided: Place = until === undefined ? place : { ...place, kind: "quiet", dueAt: until };
  // The alert waits there already, and not longer than needed: a severity that rose, or hours that changed, take effect at once.
  const isSame = known?.kind === "now" || (decided.kind === "quiet" && decided.dueAt === known?.dueAt);
  if (known?.isWaiting && (isSame || known.dueAt <= plan.now)) return;
  plan.places.push(decided);
}

/** The time when this alert may be sent there; undefined: now. */
export function quietEnd(
  { alert, now }: Plan,
  destination: string,
  { config }: Pick<Alerting, "config">,
): number | undefined {
  return quietUntil(config.destinations[destination]?.quiet, alert.severity, now);
}
