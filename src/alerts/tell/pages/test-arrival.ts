/** A test message to a destination that alerts did not reach: when it arrives, the alert about that ends. */

import type { Alert } from "../../../domain/alerts/alert.js";
import { formatAddress, parseAddress } from "../../../domain/chat/address.js";
import { errorMessage, HookgateError } from "../../../lib/errors.js";
import { newId } from "../../../lib/id.js";
import { OWN_KIND } from "../../own-alerts.js";
import { isWebhook, shownAs } from "../shown-as.js";
import type { Telling } from "../telling.js";
import { endUnused, noteArrival, noteRefusal } from "./undelivered.js";

const CAUSE = "test:";

/** The destination of an alert about a destination that alerts do not reach; undefined for any other alert. */
export function testedBy({ signal: { source, labels } }: Pick<Alert, "signal">): string | undefined {
  return source.kind === OWN_KIND && (labels.kind === "undelivered" || labels.kind === "unsaid")
    ? labels.destination
    : undefined;
}

/** A person asks for it. The destination; undefined when the alert is about none. Throws when the settings have it no longer. */
export async function testOf(alert: Alert, telling: Telling): Promise<string | undefined> {
  const destination = testedBy(alert);
  if (destination === undefined) return undefined;
  if (isWebhook(destination) && !isUsed(destination, telling))
    throw new HookgateError({
      code: "NOT_FOUND",
      message: `The settings have no such webhook at ${shownAs(destination)} any more: nothing is sent there.`,
    });
  await sendTest(destination, telling);
  return destination;
}

/** Resolves when the message is enqueued. Rejects with the error that keeps a webhook from taking it. */
export async function sendTest(destination: string, telling: Telling): Promise<void> {
  const { clock, post, send } = telling;
  const deliveryId = newId("d", clock.now());
  if (isWebhook(destination)) {
    await post(destination, deliveryId, { kind: "test", text: "Test message of the alerts", alerts: [] });
    await noteArrival(destination, telling);
    return;
  }
  const at = parseAddress(destination);
  const message = { text: "Test message: alerts are posted in this chat.", silent: true };
  const cause = { kind: "alert" as const, id: `${CAUSE}${deliveryId}`, depth: 0 };
  // A test message that is refused is no news: it is no dead letter.
  if (at) await send(at, message, { cause, deliveryId, isCourtesy: true });
}

/** A delivery has ended. False when it was no test message. */
export async function noteTest(causeId: string, telling: Telling): Promise<boolean> {
  if (!causeId.startsWith(CAUSE)) return false;
  const delivery = await telling.deliveryOf(causeId.slice(CAUSE.length));
  if (delivery === undefined) return true;
  const destination = telling.chatOf(delivery.address);
  if (delivery.status === "sent") await noteArrival(destination, telling);
  else noteRefusal(destination, delivery, telling);
  return true;
}

/** At a start and after a reload, which may have repaired the way there, or sends nothing there any more. */
export async function retest(alerts: readonly Alert[], telling: Telling): Promise<void> {
  for (const destination of new Set(alerts.flatMap((alert) => testedBy(alert) ?? [])))
    if (isUsed(destination, telling)) await tryTest(destination, telling);
    else await endUnused(destination, telling);
}

/** The way there may be repaired. A test that cannot be sent is logged. */
export async function tryTest(destination: string, telling: Telling): Promise<void> {
  await sendTest(destination, telling).catch((error: unknown) =>
    telling.logger.warn({ destination, error: errorMessage(error) }, "a test message could not be sent"),
  );
}

/** Private chats are used when an escalation chooses their person. */
function isUsed(destination: string, { config, admins, personOf }: Telling): boolean {
  return (
    personOf(destination) !== undefined ||
    admins().some((one) => formatAddress(one) === destination) ||
    config.fallback.includes(destination) ||
    config.digests.some(({ to }) => to.includes(destination)) ||
    Object.values(config.routes).some(
      ({ to, escalate }) =>
        to.includes(destination) ||
        escalate.some((step) => step.to.includes(destination) || step.webhook === destination),
    )
  );
}
