/** In the quiet hours of a destination only what is severe is told there; the rest waits for the catch-up when they end. */
import type { Place } from "../../domain/alert.js";
import type { Alerting } from "../alerting.js";
import type { Plan } from "../plan.js";
import { quietUntil } from "../quiet-hours.js";

export function quietHours(plan: Plan, place: Place, { config }: Alerting): void {
  const until = quietUntil(config.destinations[place.destination]?.quiet, plan.alert.severity, plan.now);
  const known = plan.told.find(({ destination }) => destination === place.destination);
  const decided: Place = until === undefined ? place : { ...place, kind: "quiet", dueAt: until };
  // It waits there already, and not for longer than it has to: what has become severe is told at once.
  if (known?.isWaiting && (known.kind === "now" || decided.kind === "quiet" || known.dueAt <= plan.now)) return;
  plan.places.push(decided);
}
