/** What could not be told at one place is told at another; whom an escalation called is called there. */
import { formatAddress } from "../../domain/address.js";
import { isOpen, type NewNotice } from "../../domain/alert.js";
import type { Alerting } from "../alerting.js";
import type { Plan } from "../plan.js";
import { quietHours } from "./quiet-hours.js";
import { fallbacks } from "./route.js";

export type Unsaid = Pick<NewNotice, "kind" | "key" | "text" | "mentions">;

export interface Undelivered {
  destination: string;
  reason: string;
  notice?: Unsaid;
  /** Its card failed there before. */
  isAgain?: boolean;
}

const ELSEWHERE = ":elsewhere";

export function fallback(
  plan: Plan,
  { destination, reason, notice, isAgain = false }: Undelivered,
  { config, admins }: Alerting,
): void {
  const { alert, now, told } = plan;
  if (!isOpen(alert.state)) return;
  const there = new Set(told.map((place) => place.destination));
  const elsewhere = fallbacks(config, () => admins().map(formatAddress)).filter((one) => one !== destination);
  const missing = elsewhere.filter((other) => !there.has(other));
  if (isAgain && notice === undefined && missing.length === 0) return;
  for (const one of missing)
    quietHours(plan, { alertId: alert.id, destination: one, group: "fallback", kind: "now", dueAt: now }, { config });
  if (notice?.kind === "escalation" && !notice.key.endsWith(ELSEWHERE))
    for (const one of elsewhere) {
      const key = `${notice.key}:${destination}${ELSEWHERE}`;
      const text = `${notice.text} (it did not arrive at ${destination})`;
      plan.notices.push({ ...notice, alertId: alert.id, destination: one, key, text, dueAt: now });
    }
  plan.record("undelivered", { id: destination, name: "the outbox", source: "gateway" }, `${destination}: ${reason}`);
}
