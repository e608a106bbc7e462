/** Alerts about alerting: a destination that alerts do not reach, or what is said besides their cards. */
import { isOpen } from "../../domain/alert.js";
import { HookgateError } from "../../lib/errors.js";
import { OWN_KIND } from "../steps/route.js";
import { isWebhook, type Telling } from "./telling.js";

export function undelivered(destination: string) {
  return about(destination, "undelivered", (shown) => `Alerts do not reach ${shown}`);
}

/** A chat may take cards and their changes, and no new message with a mention. */
export function unsaid(destination: string) {
  return about(destination, "unsaid", (shown) => `Reminders and escalations do not reach ${shown}`);
}

/** A message with a mention, or any other that is new, has arrived there. */
export async function saidAgain(destination: string, { store, raiseOwn }: Telling): Promise<void> {
  const signal = unsaid(destination);
  const known = await store.latest(signal.fingerprint);
  if (known && isOpen(known.state))
    await raiseOwn({ ...signal, state: "resolved", reason: "reminders and escalations arrive there again" });
}

/** Why nothing can be handed over for that place at all: its platform is not switched on. Undefined for what may pass. */
export function nowhere(error: unknown): string | undefined {
  return error instanceof HookgateError && error.code === "PLATFORM_UNKNOWN" ? error.message : undefined;
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
