/** Alerts about alerting: a destination that alerts, or the messages besides their cards, do not reach. */
import { type Alert, isOpen } from "../../../domain/alerts/alert.js";
import {
  hasExpired,
  isInDoubt,
  isStoppedByHook,
  isWithheldByHook,
  mayHaveArrived,
} from "../../../domain/deliveries/given-up.js";
import { type Delivery, isUnderWay } from "../../../domain/store.js";
import { HookgateError } from "../../../lib/errors.js";
import { NOTHING_ARRIVES, OWN_KIND, UNREACHED_KIND } from "../../own-alerts.js";
import type { Loss } from "../../plan.js";
import { rotaOf } from "../../rota/people.js";
import { checkPauseAt, pausedText } from "../late.js";
import { isWebhook, shownAs } from "../shown-as.js";
import type { Telling } from "../telling.js";
import { withheldAt } from "../withheld.js";

export function undelivered(destination: string, shown = shownAs(destination), isByHook = false) {
  return about(
    destination,
    "undelivered",
    `${isByHook ? "Hooks withhold alerts for" : "Alerts do not reach"} ${shown}`,
  );
}

/** A chat may take cards and their changes, and no new message with a mention. */
export function unsaid(destination: string, shown = shownAs(destination), isByHook = false) {
  const title = isByHook ? "Hooks withhold reminders and escalations for" : "Reminders and escalations do not reach";
  return about(destination, "unsaid", `${title} ${shown}`);
}

/**
 * One alert per cause: it includes that reminders and escalations do not arrive there. `isOfAlert`: and not of a digest, which nothing
 * posts later.
 */
export async function raiseUndelivered(
  destination: string,
  { reason, isByHook }: Pick<Loss, "reason" | "isByHook">,
  { raiseOwn, placeName }: Telling,
  isOfAlert = true,
): Promise<void> {
  const shown = shownAs(destination, placeName);
  const own = undelivered(destination, shown, isByHook);
  const labels = isByHook && isOfAlert ? { ...own.labels, ...WITHHELD } : own.labels;
  await raiseOwn({ ...own, labels, state: "firing", reason });
  // A message that hooks withhold shows nothing about other messages there.
  if (!isByHook) await raiseOwn({ ...unsaid(destination, shown), state: "resolved", reason: NOTHING_ARRIVES });
}

export async function raiseUnsaid(
  destination: string,
  { fate, reason, isByHook }: Loss,
  telling: Telling,
): Promise<void> {
  const { store, raiseOwn, placeName } = telling;
  const own = unsaid(destination, shownAs(destination, placeName), isByHook);
  const isPaused = fate === "paused";
  const openOf = async ({ fingerprint }: { fingerprint: string }) => {
    const known = await store.latest(fingerprint);
    return known && isOpen(known.state) ? known : undefined;
  };
  const worse = await openOf(undelivered(destination));
  // A message that hooks withhold there shows nothing about refusals of the chat.
  if (worse && (isByHook || !isOfWithheld(worse))) return;
  // Refusals of a chat do not end with its pause.
  if (isPaused && (await openOf(own))) return;
  const labels = { ...own.labels, ...(isPaused ? PAUSED : isByHook ? WITHHELD : {}) };
  await raiseOwn({ ...own, labels, state: "firing", reason });
}

/** The label of an alert that ends with the pause of its chat. */
const PAUSED = { cause: "pause" };
/** The label of an alert that ends with the last alert that hooks withhold there. */
const WITHHELD = { cause: "hooks" };

const isOfWithheld = ({ signal: { labels } }: Pick<Alert, "signal">) => labels.cause === WITHHELD.cause;

/** Nothing is posted at the end of a pause when an operator has the alerts that waited. Returns the time to look again. */
export async function endWithPause(destination: string, telling: Telling): Promise<number | undefined> {
  const { store, inhibitors, clock } = telling;
  if (!inhibitors.refuses(destination)) return undefined;
  const known = await store.latest(unsaid(destination).fingerprint);
  if (known === undefined || !isOpen(known.state) || known.signal.labels.cause !== PAUSED.cause) return undefined;
  const pause = telling.pauseOf(destination);
  if (pause) return checkPauseAt(pause, clock.now());
  await saidAgain(destination, telling, "the pause of that chat has ended");
  return undefined;
}

/** A step of an alert's escalation that notified none of the people it mentions. */
export function unreached(
  alert: Alert,
  { route, step, number, mention }: { route: string; step: string; number: number; mention: string[] },
) {
  const whom = mention.map((one) => {
    const rota = rotaOf(one);
    return rota === undefined ? one : `rota ${rota}`;
  });
  return {
    fingerprint: `${UNREACHED_PREFIX}${alert.id}:${route}:${step}`,
    severity: "high" as const,
    title: `Escalation step ${number} did not notify ${whom.join(", ") || "its people"}: ${alert.signal.title}`,
    source: { kind: OWN_KIND, id: route },
    labels: { kind: UNREACHED_KIND, route, alert: alert.id, step },
  };
}

export const UNREACHED_PREFIX = `alerts:${UNREACHED_KIND}:`;

/** The settings send no alerts there any more. */
export async function endUnused(destination: string, { store, raiseOwn }: Telling): Promise<void> {
  for (const { fingerprint } of [undelivered(destination), unsaid(destination)]) {
    const known = await store.latest(fingerprint);
    if (known && isOpen(known.state))
      await raiseOwn({ ...known.signal, state: "resolved", reason: "the settings send no alerts there" });
  }
}

/** A new message has arrived there: a card, a reminder, an escalation, or a test message. */
export async function noteArrival(destination: string, telling: Telling): Promise<void> {
  telling.inhibitors.noteArrival(destination, telling.clock.now());
  await endOwn(destination, telling, { isArrival: true });
}

/** The alert about messages that hooks withhold there ends with its alerts, too. */
export function endWithheld(destination: string, telling: Telling): Promise<void> {
  return endOwn(destination, telling, { isArrival: false });
}

/** One message that arrives shows nothing about those that hooks withhold. */
async function endOwn(destination: string, telling: Telling, { isArrival }: { isArrival: boolean }): Promise<void> {
  const { store, raiseOwn, placeName } = telling;
  const shown = shownAs(destination, placeName);
  const cases = [
    { own: undelivered(destination, shown, true), again: "alerts arrive there again" },
    { own: unsaid(destination, shown, true), again: SAID_AGAIN },
  ];
  for (const { own, again } of cases) {
    const known = await store.latest(own.fingerprint);
    if (known === undefined || !isOpen(known.state)) continue;
    const isByHook = isOfWithheld(known);
    if (!isByHook && !isArrival) continue;
    const { card, notice } = await withheldAt(destination, telling);
    const reason = own.labels.kind === "undelivered" ? (card ?? (isByHook ? notice : undefined)) : notice;
    if (reason === undefined)
      await raiseOwn({ ...known.signal, state: "resolved", reason: isByHook ? NONE_WITHHELD : again });
    else if (!isByHook) await raiseOwn({ ...own, labels: { ...own.labels, ...WITHHELD }, state: "firing", reason });
  }
}

const NONE_WITHHELD = "each alert that hooks withheld there was posted there later, or has ended";
const SAID_AGAIN = "reminders and escalations arrive there again";

/** An alert about messages that were not delivered must not become one of them. */
export function isAboutDelivery({ signal }: Pick<Alert, "signal">): boolean {
  return ABOUT_DELIVERY.has(signal.labels.kind ?? "");
}

const ABOUT_DELIVERY: ReadonlySet<string> = new Set(["letters", "undelivered", "unsaid"]);

/** The platform refused it for good, as it does when a person has blocked the bot: their private chat is left alone for a while. */
export function noteRefusal(destination: string, delivery: Delivery, { personOf, inhibitors, clock }: Telling): void {
  if (isRefused(delivery) && personOf(destination) !== undefined)
    inhibitors.noteRefusal(destination, delivery.reason ?? "", clock.now());
}

/** The message was tried, and did not arrive. */
const isRefused = (delivery: Delivery) =>
  (delivery.status === "dead" || isLostCourtesy(delivery)) && !hasExpired(delivery) && !isInDoubt(delivery);

/** The fate of a delivery, or the reason why it still waits. A platform that is away is no pause of a chat. */
export function lossOf(destination: string, delivery: Delivery, { pauseOf, config }: Telling): Loss {
  const { reason = isUnderWay(delivery) ? WAITS : delivery.status } = delivery;
  if (isInDoubt(delivery) || (isUnderWay(delivery) && delivery.parts.some(mayHaveArrived)))
    return { fate: "in doubt", reason };
  if (isStoppedByHook(delivery)) return { fate: "unsent", reason, isByHook: true };
  if (isRefused(delivery)) return { fate: "refused", reason };
  const pause = pauseOf(destination);
  if (pause) return { fate: "paused", reason: pausedText(pause, config) };
  // An expired message is enqueued again.
  return { fate: isUnderWay(delivery) || hasExpired(delivery) ? "waiting" : "unsent", reason };
}

const WAITS = "it waits for its platform, or behind other messages of its chat";

/** The delivery ended and did not arrive. One that the gateway or an operator withdrew is not lost. */
export function isLost(delivery: Delivery): boolean {
  const { status } = delivery;
  return status === "dead" || status === "held" || isLostCourtesy(delivery) || isWithheldByHook(delivery);
}

/** The delivery was tried, and the platform refused it or may have. (A delivery that hooks cancel is never tried.) */
function isLostCourtesy({ status, isCourtesy, parts }: Delivery): boolean {
  return status === "cancelled" && isCourtesy === true && parts.length > 0;
}

/** A message with a mention, or any other that is new, has arrived there. */
export async function saidAgain(destination: string, { store, raiseOwn }: Telling, reason = SAID_AGAIN): Promise<void> {
  const known = await store.latest(unsaid(destination).fingerprint);
  if (known && isOpen(known.state)) await raiseOwn({ ...known.signal, state: "resolved", reason });
}

/** Why nothing can be enqueued for that place at all: its platform is not switched on. Undefined for other errors. */
export function nowhere(error: unknown): string | undefined {
  return error instanceof HookgateError && error.code === "PLATFORM_UNKNOWN" ? error.message : undefined;
}

function about(destination: string, kind: string, title: string) {
  return {
    fingerprint: `alerts:${kind}:${destination}`,
    severity: "high" as const,
    title,
    source: { kind: OWN_KIND, id: shownAs(destination) },
    labels: {
      kind,
      destination,
      platform: isWebhook(destination) ? "webhook" : (destination.split(":")[0] ?? ""),
    },
  };
}
