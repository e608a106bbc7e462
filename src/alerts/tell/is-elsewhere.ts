/** Whether the fallback has a message already. */
import type { Notice } from "../../domain/alerts/alert.js";
import { isAboutPlace } from "../own-alerts.js";
import { isLossOf } from "../steps/fallback.js";
import type { Telling } from "./telling.js";

/** The fallback has each of them since its first delivery was given up. The card of its alert may be there without it. */
export async function isElsewhere(notices: readonly Notice[], { store }: Telling): Promise<boolean> {
  for (const notice of notices) {
    const { alertId, dueAt, sentAt = dueAt } = notice;
    const alert = await store.get(alertId);
    if (alert && isAboutPlace(alert)) continue;
    const history = await store.history(alertId);
    if (!history.some((one) => one.at >= sentAt && isLossOf(one, notice))) return false;
  }
  return true;
}
