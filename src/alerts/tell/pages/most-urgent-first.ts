/** The order in which the messages of one destination are enqueued. */
import type { Alert, Notice } from "../../../domain/alerts/alert.js";
import { OWN_KIND } from "../../own-alerts.js";
import { isAboutDelivery } from "./undelivered.js";

interface About {
  notice: Notice;
  alert: Alert;
}

export const isPage = (group: readonly About[]) => group.some(({ notice }) => notice.kind === "escalation");

/**
 * Pages do not wait for the budget. Among pages, and among the rest, alerts about alerting come last: they must not delay a customer's
 * alert.
 */
export function mostUrgentFirst<Notice extends About>(groups: readonly Notice[][]): Notice[][] {
  return [...groups].sort((a, b) => rankOf(a) - rankOf(b));
}

const rankOf = (group: readonly About[]) => (isPage(group) ? 0 : 2) + (group.every(isAboutAlerting) ? 1 : 0);

const isAboutAlerting = ({ alert }: About) => isAboutDelivery(alert) || alert.signal.source.kind === OWN_KIND;
