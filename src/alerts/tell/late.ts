/** Reminders and escalations that go out late say so: whoever is paged at night has to know that it is old. */
import type { Delivery } from "../../domain/store.js";
import { formatDuration } from "../../lib/duration.js";
import { moment } from "../card/words.js";
import type { AlertsConfig } from "../config.js";

/** Less is not worth a word. */
const LATE_MS = 5 * 60_000;
const MAX_WAIT_MS = 15 * 60_000;

/** In a sentence; undefined when it is on time. */
export function lateText(lateMs: number, why: string): string | undefined {
  return lateMs < LATE_MS ? undefined : `This message is ${formatDuration(lateMs)} late: ${why}`;
}

/** For a page that its chat did not take in time: it may be posted long after it was written. */
export function dueText(dueAt: number, now: number, zone: string): string {
  return `It was due ${moment(dueAt, zone, "T")} and was not posted then; its times are those of ${moment(now, zone, "T")}`;
}

/** How long one may wait in the outbox with the words that it has. After that it is said anew, or dropped when its alert has ended. */
export function waitMs(lateMs: number, { fallback_after }: Pick<AlertsConfig, "fallback_after">): number {
  return Math.max(fallback_after, Math.min(lateMs, MAX_WAIT_MS));
}

/** When it has waited long enough. One from before there was such a limit may expire a day later. */
export function waitsUntil(
  { createdAt, expiresAt }: Delivery,
  { fallback_after }: Pick<AlertsConfig, "fallback_after">,
) {
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, createdAt + Math.max(fallback_after, MAX_WAIT_MS));
}
