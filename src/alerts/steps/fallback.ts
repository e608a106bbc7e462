/** What could not be told at one place is told at another. */
import { formatAddress } from "../../domain/address.js";
import { isOpen } from "../../domain/alert.js";
import type { Alerting } from "../alerting.js";
import type { Plan } from "../plan.js";
import { quietHours } from "./quiet-hours.js";
import { fallbacks } from "./route.js";

export function fallback(
  plan: Plan,
  { destination, reason }: { destination: string; reason: string },
  { config, admins }: Alerting,
): void {
  const { alert, now, told } = plan;
  if (!isOpen(alert.state)) return;
  const there = new Set(told.map((place) => place.destination));
  const elsewhere = fallbacks(config, () => admins().map(formatAddress)).filter((one) => !there.has(one));
  for (const one of elsewhere)
    quietHours(plan, { alertId: alert.id, destination: one, group: "fallback", kind: "now", dueAt: now }, { config });
  plan.record("undelivered", { id: destination, name: "the outbox", source: "gateway" }, `${destination}: ${reason}`);
}
