/**
 * Open cards are drawn again as time passes: those that show how late an alert is as that changes, and every one now and then, which
 * restores deleted messages on platforms that do not report deletions. The time is on disk with the card.
 */
import { type AlertCard, isOpen } from "../../domain/alerts/alert.js";
import type { Delivery } from "../../domain/store.js";
import { isCalledOff } from "../urging.js";
import type { Telling } from "./telling.js";

const SOONEST_MS = 30_000;
/** While it fires without an owner, and otherwise. An alert that an operator has is not drawn more often than the first. */
const LATEST_FIRING_MS = 5 * 60_000;
const LATEST_MS = 3_600_000;
/** A chat with many open cards is not edited more often than this. */
const APART_MS = 6_000;

/** The limits of the time between two posts of a card in doubt. */
const FIRST_REPOST_MS = 60_000;
const LAST_REPOST_MS = 5 * 60_000;

/** The time when a card in doubt is posted again: its chat may work again by then, and a card twice is better than none. */
export function repostAt({ createdAt }: AlertCard, { settledAt = createdAt }: Delivery): number {
  return settledAt + Math.min(LAST_REPOST_MS, Math.max(FIRST_REPOST_MS, settledAt - createdAt));
}

/** Returns the time of the next redraw. */
export async function markForRedraw(destination: string, { store, clock }: Telling): Promise<number | undefined> {
  const now = clock.now();
  const { nextAt } = await store.redraws(destination);
  if (nextAt === undefined || nextAt > now) return nextAt;
  await store.redrawDue(destination, now);
  return (await store.redraws(destination)).nextAt;
}

/** Undefined when all alerts on the card have ended. */
export async function nextRedraw(
  { id, kind, destination }: AlertCard,
  { store, clock }: Telling,
): Promise<number | undefined> {
  const [worst] = await store.list({ cardId: id, limit: 1 });
  if (worst === undefined || !isOpen(worst.state)) return undefined;
  const now = clock.now();
  const isFiring = kind === "alert" ? worst.state === "firing" : ((await store.counts({ cardId: id })).firing ?? 0) > 0;
  const latest = isFiring ? LATEST_FIRING_MS : LATEST_MS;
  const { dueAt } = worst.signal.clock ?? {};
  const soonest = isCalledOff(worst) ? LATEST_FIRING_MS : SOONEST_MS;
  const wait = dueAt === undefined ? latest : Math.min(latest, Math.max(soonest, Math.abs(dueAt - now) / 10));
  const { count } = await store.redraws(destination);
  return Math.round(now + Math.max(wait, count * APART_MS));
}
