/** Fires delivery_failed for a delivery that was given up or cancelled. Nothing waits for its hooks. */
import type { Delivery } from "../../../domain/store.js";
import { isolate } from "../../../fast/isolate.js";
import { fireOptions, withTarget } from "../hook-target.js";
import type { Outbound } from "../sending.js";

/** `attempt` and `ended`: of pending work. Without them this is the first time. */
export function reportFailed(delivery: Delivery, error: string, out: Outbound, attempt = 1, ended?: () => void): void {
  const message = delivery.frozen ?? delivery.message;
  const own = { message: message && isolate(message), error, attempts: delivery.attempts };
  const payload = withTarget(own, delivery, out);
  const options = fireOptions(delivery, "delivery_failed", attempt);
  const fired = out.registry.fireVoid("delivery_failed", payload, undefined, options);
  const isHeard = out.registry.isHeard("delivery_failed");
  out.background.run("delivery_failed", fired, ended ?? (isHeard ? () => out.endNotified(delivery.id) : undefined));
}
