/** Recognises alerts about alerting itself. They go to chats where nothing else failed. */
import type { Alert } from "../domain/alerts/alert.js";

/** The source kind of these alerts. */
export const OWN_KIND = "alerts";
/** The kind of an alert about a step of an escalation that notified none of its people. */
export const UNREACHED_KIND = "unreached";
/** The kind of an alert about a rota that has no one on call. */
export const GAP_KIND = "gap";

/** The alert is about a chat that takes no alerts: nothing else would notify that chat. */
export function isAboutPlace({ signal: { source, labels } }: Pick<Alert, "signal">): boolean {
  return source.kind === OWN_KIND && labels.destination !== undefined;
}

/** The alert reports that a platform is away. */
export function isPlatformAway({ signal: { source, labels } }: Pick<Alert, "signal">): boolean {
  return source.kind === "gateway" && labels.kind === "platform";
}

/** A message about the alert in this chat is read when its cause has ended: the alert reports that the platform of the chat is away. */
export function isReadTooLate(alert: Pick<Alert, "signal">, destination: string): boolean {
  return isPlatformAway(alert) && destination.split(":")[0] === alert.signal.labels.platform;
}

/**
 * Why an alert about reminders ends when cards do not arrive either: another alert covers both, and the problem is not over. Stored as the
 * reason of the alert, and compared: rows of earlier versions have these words. A new wording must still recognise the old one.
 */
export const NOTHING_ARRIVES = "no alert arrives there at all";

export function isWorse({ state, signal }: Pick<Alert, "state" | "signal">): boolean {
  return state === "resolved" && signal.source.kind === OWN_KIND && signal.reason === NOTHING_ARRIVES;
}
