/** It was given up or cancelled: delivery_failed. Nothing waits for its hooks. */
import type { Delivery } from "../../domain/store.js";
import { isolate } from "../../hooks/isolate.js";
import { fireOptions, withTarget } from "./hook-target.js";
import type { Outbound } from "./sending.js";

export function reportFailed(delivery: Delivery, error: string, out: Outbound): void {
  const message = delivery.frozen ?? delivery.message;
  const own = { message: message && isolate(message), error, attempts: delivery.attempts };
  const payload = withTarget(own, delivery);
  const options = fireOptions(delivery, "delivery_failed", delivery.told + 1);
  const told = out.registry.fireVoid("delivery_failed", payload, undefined, options);
  const isHeard = out.registry.isHeard("delivery_failed");
  out.background.run("delivery_failed", told, isHeard ? () => out.pendingEnds.settle(delivery.id) : undefined);
}
