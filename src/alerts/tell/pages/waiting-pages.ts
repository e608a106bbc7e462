/** Pages of an alert that are due and not posted: the step is taken, and its page is not in the chat yet. */
import { type Alert, isOpen, type Notice } from "../../../domain/alerts/alert.js";
import { isUnderWay } from "../../../domain/store.js";
import { quietUntil } from "../../quiet-until.js";
import { isPageKey, stepIn, stepOf, waitsText } from "../../steps/escalate.js";
import { isCalledOff } from "../../urging.js";
import { hasLeft } from "../left-chats.js";
import type { Telling } from "../telling.js";

const PAGE = 500;

export interface WaitingPage {
  destination: string;
  /** The end of the pause of its chat; absent when it waits for something else. */
  until?: number | undefined;
  /** An operator has the alert: the page is posted when the alert needs an operator again. */
  isCalledOff?: boolean;
}

/** One page for each chat. */
export async function waitingPages(alert: Alert, telling: Telling): Promise<WaitingPage[]> {
  const { store, clock, pauseOf, deliveryOf } = telling;
  if (!isOpen(alert.state)) return [];
  const found: WaitingPage[] = [];
  for (const { destination } of await store.placesOf(alert.id)) {
    const all = [...(await store.notices(destination, PAGE)), ...(await store.unsettledNotices(destination))];
    for (const { alertId, kind, dueAt, deliveryId } of all) {
      if (alertId !== alert.id || kind !== "escalation" || dueAt > clock.now()) continue;
      const delivery = deliveryId === undefined ? undefined : await deliveryOf(deliveryId);
      if (delivery !== undefined && !isUnderWay(delivery)) continue;
      // The page is taken back in a moment, or is posted.
      if (delivery !== undefined && isCalledOff(alert)) continue;
      found.push(
        isCalledOff(alert) ? { destination, isCalledOff: true } : { destination, until: pauseOf(destination)?.until },
      );
      break;
    }
  }
  return found;
}

export interface QuietPage {
  destination: string;
  /** When the quiet hours of its chat end, by the current settings. */
  until: number;
  route: string;
  /** The page's step, by its place among the taken steps of the route. */
  place: number;
  /** The step's number in the text of its page. */
  number: number;
  /** Another message of the step is on its way, or posted. */
  isPosted: boolean;
}

/** Pages that wait for the end of quiet hours, the earliest first. */
export async function quietPages(alert: Alert, { store, clock, config }: Telling): Promise<QuietPage[]> {
  if (!isOpen(alert.state) || isCalledOff(alert)) return [];
  const now = clock.now();
  const places = await store.placesOf(alert.id);
  const pages = (await store.noticesWith(alert.id, "escalation")).filter(({ key }) => isPageKey(key));
  const waiting = pages.flatMap((page): QuietPage[] => {
    const { destination, deliveryId, dueAt, key } = page;
    const until = quietUntil(config.destinations[destination]?.quiet, alert.severity, now);
    const { route, step } = stepOf(stepIn(key) ?? "") ?? {};
    const isWaiting = deliveryId === undefined && dueAt > now && !hasLeft(page, alert, places, { config });
    if (until === undefined || route === undefined || !isWaiting) return [];
    const isPosted = pages.some((one) => one.deliveryId !== undefined && stepIn(one.key) === stepIn(key));
    return [{ destination, until, route, place: Number(step), number: page.step ?? Number(step), isPosted }];
  });
  return waiting.sort((a, b) => a.until - b.until);
}

/** The sentences of a page about steps that wait elsewhere, its own among them: no other message of the alert notifies their people yet. */
export async function waitsBeside(
  { key, kind, destination }: Notice,
  alert: Alert,
  telling: Telling,
): Promise<string[]> {
  if (kind !== "escalation" || !isPageKey(key)) return [];
  const own = stepOf(stepIn(key) ?? "");
  const isOwn = ({ route, place }: QuietPage) => route === own?.route && place === Number(own.step);
  const waiting = (await quietPages(alert, telling)).filter(
    (one) => one.destination !== destination && (isOwn(one) || !one.isPosted),
  );
  const ofRoute = (route: string) => (Object.keys(alert.urged ?? {}).length > 1 ? ` of ${route}` : "");
  return waiting.map(
    (one) => `Step ${one.number}${ofRoute(one.route)} ${waitsText(one.destination, telling.placeName)}`,
  );
}
