/** Alerts about alerting itself: which they are. They go where nothing else failed. */
import type { Alert } from "../domain/alert.js";

/** The kind of their source. */
export const OWN_KIND = "alerts";
/** The kind of an alert about a step of an escalation that notified none of its people. */
export const UNREACHED_KIND = "unreached";
/** The kind of an alert about a rota that has no one on call. */
export const GAP_KIND = "gap";

/** It is about a chat that takes no alerts: nothing else would notify that chat. */
export function isAboutPlace({ signal: { source, labels } }: Pick<Alert, "signal">): boolean {
  return source.kind === OWN_KIND && labels.destination !== undefined;
}
