/** Reminders and escalations that are sent late show that: a person who is paged at night has to know that the page is old. */
import { type Hold, STATE_WORDS } from "../../domain/alerts/alert.js";
import type { Delivery, Pause } from "../../domain/store.js";
import { formatDuration } from "../../lib/time/duration.js";
import { timeIn } from "../../lib/time/timezone.js";
import { zoneOf } from "../business-hours.js";
import { moment } from "../card/words.js";
import type { AlertsConfig } from "../config.js";

/** A shorter delay is not shown. */
const LATE_MS = 5 * 60_000;
/** From this delay on a page shows how old it is. */
export const LATE_PAGE_MS = 60_000;
const MAX_WAIT_MS = 15 * 60_000;

/** The lateness in a sentence; undefined when the message is on time. */
export function lateText(lateMs: number, why: string, fromMs = LATE_MS): string | undefined {
  return lateMs < fromMs ? undefined : `This message is ${formatDuration(lateMs)} late: ${why}`;
}

/** For a page that its chat did not take in time, or that an operator held back: it may be posted long after it was written. */
export function dueText(dueAts: readonly number[], now: number, zone: string, hold?: Hold): string {
  const [due = "", was] = dueTimes(dueAts, zone);
  const why = hold ? heldText(hold, zone) : ` and ${was} not posted then`;
  return `${due}${why}; its times are those of ${moment(now, zone, "T")}`;
}

/** For a page that waits with the words that it has now until its platform is back. */
export function awayText(dueAts: readonly number[], now: number, zone: string): string {
  return `${dueTimes(dueAts, zone)[0]}, when this chat could not be reached; its times are those of ${moment(now, zone, "T")}`;
}

/** For a page that waits for the end of a pause with the words that it has now. */
export function pausedUntilText(dueAts: readonly number[], { until }: Pause, zone: string, hold?: Hold): string {
  const why = hold ? heldText(hold, zone) : "";
  return `${dueTimes(dueAts, zone)[0]}${why}; sending to this chat was paused until ${moment(until, zone, "T")}`;
}

const heldText = ({ state, until }: Hold, zone: string) =>
  `; the alert was ${STATE_WORDS[state]} until ${moment(until, zone, "T")}`;

/** Several pages may be one message. */
function dueTimes(dueAts: readonly number[], zone: string): [due: string, was: "was" | "were"] {
  // Compares the times as they are shown.
  const [first = "", last = first] = [Math.min(...dueAts), Math.max(...dueAts)].map((at) => moment(at, zone, "T"));
  return first === last ? [`It was due ${first}`, "was"] : [`Its pages were due from ${first} to ${last}`, "were"];
}

/** In a sentence about the chat; the platform's own words are part of it. */
export function pausedText({ until, reason }: Pause, { business_hours }: Pick<AlertsConfig, "business_hours">): string {
  return `sending there is paused until ${timeIn(zoneOf(business_hours), until).slice(11, 16)}: ${reason}`;
}

/** How often a delivery or a pause that has not ended is looked at again. The docs promise the fallback within this time. */
export const CHECK_AGAIN_MS = 15_000;

/** An operator may lift the pause. */
export const checkPauseAt = ({ until }: Pause, now: number) => Math.min(until, now + CHECK_AGAIN_MS);

/** A page that is due at that time, and waits for the end of the pause, is called late at the fallback. */
export function isPausedTooLong(
  pause: Pause | undefined,
  dueAt: number,
  { fallback_after }: Pick<AlertsConfig, "fallback_after">,
): pause is Pause {
  return pause !== undefined && pause.until > dueAt + fallback_after;
}

/** How long a message may wait in the outbox with its words. After that it is written again, or dropped when its alert has ended. */
export function waitMs(lateMs: number, { fallback_after }: Pick<AlertsConfig, "fallback_after">): number {
  return Math.max(fallback_after, Math.min(lateMs, MAX_WAIT_MS));
}

/** The time when a message has waited long enough. One from before there was such a limit may expire a day later. */
export function waitsUntil(
  { createdAt, expiresAt }: Delivery,
  { fallback_after }: Pick<AlertsConfig, "fallback_after">,
) {
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, createdAt + Math.max(fallback_after, MAX_WAIT_MS));
}
