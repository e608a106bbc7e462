/** The alert about alerting: a destination that alerts do not reach. */
import { OWN_KIND } from "../steps/route.js";
import { isWebhook } from "./telling.js";

export function undelivered(destination: string) {
  // An address may hold a secret in its path.
  const shown = isWebhook(destination) ? new URL(destination).host : destination;
  return {
    fingerprint: `alerts:undelivered:${destination}`,
    severity: "high" as const,
    title: `Alerts do not reach ${shown}`,
    source: { kind: OWN_KIND, id: shown },
    labels: {
      kind: "undelivered",
      destination,
      platform: isWebhook(destination) ? "webhook" : (destination.split(":")[0] ?? ""),
    },
  };
}
