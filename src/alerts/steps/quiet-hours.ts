/** In the quiet hours of a destination only what is severe is told there; the rest waits for the catch-up when they end. */
import type { Place } from "../../domain/alerts/alert.js";
import type { Alerting } from "../alerting.js";
import type { Plan } from "../plan.js";
import { quietUntil } from "../quiet-hours.js";

export function quietHours(plan: Plan, place: Place, { config }: Pick<Alerting, "config">): void {
  const until = quietEnd(plan, place.destination, { config });
  const known = plan.knownPlaces.find(({ destination }) => destination === place.destination);
  const decided: Place = until === undefined ? place : { ...place, kind: "quiet", dueAt: until };
  // It waits there already, and not for longer than it has to: what has become severe, or hours that changed, are heeded at once.
  const isSame = known?.kind === "now" || (decided.kind === "quiet" && decided.dueAt === known?.dueAt);
  if (known?.isWaiting && (isSame || known.dueAt <= plan.now)) return;
  plan.places.push(decided);
}

/** When this alert may be told there; undefined: now. */
export function quietEnd(
  { alert, now }: Plan,
  destination: string,
  { config }: Pick<Alerting, "config">,
): number | undefined {
  return quietUntil(config.destinations[destination]?.quiet, alert.severity, now);
}
