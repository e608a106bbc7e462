/** Alerts about alerting: a destination that alerts do not reach, or what is said besides their cards. */
import { OWN_KIND } from "../steps/route.js";
import { isWebhook } from "./telling.js";

export function undelivered(destination: string) {
  return about(destination, "undelivered", (shown) => `Alerts do not reach ${shown}`);
}

/** A chat may take cards and their changes, and no new message with a mention. */
export function unsaid(destination: string) {
  return about(destination, "unsaid", (shown) => `Reminders and escalations do not reach ${shown}`);
}

function about(destination: string, kind: string, title: (shown: string) => string) {
  // An address may hold a secret in its path.
  const shown = isWebhook(destination) ? new URL(destination).host : destination;
  return {
    fingerprint: `alerts:${kind}:${destination}`,
    severity: "high" as const,
    title: title(shown),
    source: { kind: OWN_KIND, id: shown },
    labels: {
      kind,
      destination,
      platform: isWebhook(destination) ? "webhook" : (destination.split(":")[0] ?? ""),
    },
  };
}
