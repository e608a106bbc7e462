/**
 * When a person takes or snoozes an alert, or it ends, the reminders and escalations that were posted about it show that: a person who
 * presses a button of one sees that it worked, and others see that they are not needed. When the alert needs people again, they show that,
 * too.
 */
import { createHash } from "node:crypto";
import { type Alert, type AlertCard, isOpen, isPostponed, type Notice } from "../../domain/alerts/alert.js";
import { type AlertCounts, countTexts } from "../../domain/alerts/alert-counts.js";
import { noticeText } from "../../domain/alerts/notice-words.js";
import type { Button } from "../../domain/chat/message.js";
import { isUnderWay } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import { groupBy } from "../../lib/group-by.js";
import { type At, lateOf, stateLine } from "../card/alert-card.js";
import { alertLine } from "../card/alert-line.js";
import { cardButtons } from "../card/buttons.js";
import { standingOf } from "../card/standing.js";
import { inline, markOf, moment, NAMED } from "../card/words.js";
import { isOfWoken } from "../steps/breach.js";
import { routeAt } from "../steps/route.js";
import { pageButtons } from "./pages/page-buttons.js";
import type { Telling } from "./telling.js";

const MAX_ALERTS = 200;
/** An alert may end while its card is drawn with older data. A notice that is closed twice gets the same change. */
const OVERLAP_MS = 60_000;

/** Before the card that shows it is saved: after a crash in between, the same edits have the same ids. */
export async function closeNotices({ id, destination, shownAt }: AlertCard, telling: Telling): Promise<void> {
  const since = shownAt - OVERLAP_MS;
  const moved = await telling.store.movedFrom(id, MAX_ALERTS);
  const alerts = [
    ...(await telling.store.list({ cardId: id, since, limit: MAX_ALERTS })),
    ...moved.map(({ alert }) => alert),
  ];
  const done = new Set<string>();
  for (const alert of alerts) {
    if ((alert.endedAt ?? alert.since) < since) continue;
    const posted = await telling.store.postedWith(alert.id, destination);
    for (const notices of groupBy(posted, ({ deliveryId }) => deliveryId ?? "")) {
      const deliveryId = notices[0]?.deliveryId;
      if (deliveryId === undefined || done.has(deliveryId)) continue;
      done.add(deliveryId);
      await redrawNotices(deliveryId, notices, destination, telling);
    }
  }
}

/** The alert still needs a person, or may need one again without any action of a person. */
const isWaiting = ({ state }: Pick<Alert, "state">) => isOpen(state) && state !== "acked" && state !== "snoozed";

/** A message about several alerts changes with each of those that it names. */
async function redrawNotices(
  deliveryId: string,
  notices: readonly Notice[],
  destination: string,
  telling: Telling,
): Promise<void> {
  const { store, config, edit, deliveryOf } = telling;
  // A notice that was withdrawn is posted later than it was enqueued first.
  const delivery = await deliveryOf(deliveryId);
  const postedAt = delivery?.createdAt ?? Number.POSITIVE_INFINITY;
  const alerts: Alert[] = [];
  for (const id of new Set(notices.map(({ alertId }) => alertId))) {
    const alert = await store.get(id);
    if (alert !== undefined) alerts.push(alert);
  }
  const changed = new Set<string>();
  for (const alert of alerts.slice(0, NAMED))
    if (await hasChanged(alert, notices, postedAt, telling)) changed.add(alert.id);
  if (changed.size === 0) return;
  // A message that still waits is taken back when none of its alerts needs a person, and its edits must not wait behind it.
  if (alerts.length > 1 && alerts.some(isWaiting) && delivery && isUnderWay(delivery)) return;
  const timezone = config.destinations[destination]?.timezone;
  const text = await textOf(alerts, { changed, notices, timezone }, telling);
  const ended = alerts.map(({ id, state, since }) => `${id}|${state}|${since}`).join();
  const digest = createHash("sha256").update(`${deliveryId}|${ended}`).digest("base64url");
  const cause = { kind: "alert" as const, id: alerts[0]?.id ?? "", depth: 0 };
  try {
    const options = { cause, deliveryId: `d_${digest.slice(0, 24)}`, isCourtesy: true, urgency: "last" as const };
    const buttons = await buttonsOf(alerts, deliveryId, destination, telling);
    await edit(deliveryId, { text, buttons }, options);
  } catch (error) {
    // The message is so old that the outbox has forgotten it.
    if (!(error instanceof HookgateError) || error.code !== "DELIVERY_UNKNOWN") throw error;
  }
}

/** The message about the alert is not true any more. */
async function hasChanged(
  alert: Alert,
  notices: readonly Notice[],
  postedAt: number,
  telling: Telling,
): Promise<boolean> {
  if (notices.some((notice) => isOfWoken(notice, alert))) return false;
  // The page is newer than the operator's action: it calls people until one of them acts.
  if (isOpen(alert.state) && alert.called !== undefined && postedAt >= alert.called.at) return false;
  return !isWaiting(alert) || wasHeld(alert, postedAt, telling);
}

/** A person had the alert, or it had ended, since the message was posted. */
async function wasHeld({ id }: Alert, postedAt: number, { store }: Telling): Promise<boolean> {
  return (await store.history(id)).some(({ at, to }) => at >= postedAt && !isWaiting({ state: to }));
}

/** A message about one alert has the buttons of its card while the alert is open; one about several, while one of them needs a person. */
async function buttonsOf(
  alerts: readonly Alert[],
  deliveryId: string,
  destination: string,
  telling: Telling,
): Promise<Button[][]> {
  const [alert, another] = alerts;
  if (another !== undefined) return alerts.some(isWaiting) ? pageButtons(alerts, deliveryId, destination, telling) : [];
  if (alert === undefined || !isOpen(alert.state)) return [];
  const standing = await standingOf(alert, telling);
  return cardButtons(alert, routeAt(alert, destination, telling).settings, standing);
}

interface Changes {
  /** The ids of alerts that have changed since the message. */
  changed: ReadonlySet<string>;
  notices: readonly Notice[];
  timezone: string | undefined;
}

/**
 * The state of each of a few alerts; of many, the count of each state, and the first of them: an edit that is too long for one message adds
 * others.
 */
async function textOf(
  alerts: readonly Alert[],
  { changed, notices, timezone }: Changes,
  telling: Telling,
): Promise<string> {
  const shown = alerts.slice(0, NAMED);
  const ends = await Promise.all(
    shown.map((alert) => (changed.has(alert.id) ? endOf(alert, timezone, telling) : alertLine(alert, telling))),
  );
  if (alerts.length <= NAMED) {
    if (changed.size === shown.length) return ends.join("\n");
    const [text, another] = new Set(notices.map(noticeText));
    const common = text === undefined || another !== undefined ? "" : ` · ${inline(text)}.`;
    return [`**${alerts.length} alerts**${common}`, ...ends].join("\n");
  }
  const counts: AlertCounts = {};
  for (const alert of alerts) {
    const state = isPostponed(alert) ? "postponed" : alert.state;
    counts[state] = (counts[state] ?? 0) + 1;
  }
  const headline = `**${alerts.length} alerts** · ${countTexts(counts).join(" · ")}`;
  return [headline, ...ends, `and ${alerts.length - NAMED} more: \`/alerts\``].join("\n");
}

async function endOf(alert: Alert, timezone: string | undefined, telling: Telling): Promise<string> {
  const at: At = (ms, style) => moment(ms, timezone, style);
  // Like on its card: overdue since its due time, and not since its snooze ended.
  const late = lateOf(alert, await standingOf(alert, telling), telling.clock.now());
  const state = stateLine(alert, late, at, await telling.store.history(alert.id));
  const shown = `${state.charAt(0).toUpperCase()}${state.slice(1)}`;
  const again = alert.state === "firing" || alert.state === "warned" ? "Needs an operator again. " : "";
  return `${markOf(alert)} **${inline(alert.signal.title, 200)}**\n${again}${shown}. \`${alert.id}\``;
}
