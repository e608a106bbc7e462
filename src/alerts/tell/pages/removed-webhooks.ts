/**
 * Pages that wait for a webhook that the settings have no longer: nothing is sent there. They go to the new address of their step, if it
 * has one.
 */
import { type Alert, isOpen, type Notice } from "../../../domain/alerts/alert.js";
import type { AlertsConfig } from "../../config.js";
import { stepIn, stepOf } from "../../steps/escalate.js";
import { stepTaken, urgingOf } from "../../urging.js";
import { follow, waitingWhereLeft } from "../left-chats.js";
import { postponeNotices } from "../postpone.js";
import { isWebhook } from "../shown-as.js";
import type { Telling } from "../telling.js";

/** The notices that wait for a destination, oldest first. */
export async function noticesFor(destination: string, limit: number, telling: Telling): Promise<Notice[]> {
  const { store, config, run } = telling;
  for (;;) {
    const waiting = await store.notices(destination, limit);
    const removed = isWebhook(destination)
      ? waiting.filter((one) => !isStepOf(one, config))
      : await waitingWhereLeft(waiting, telling);
    if (removed.length === 0 && (await postponeNotices(waiting, telling))) continue;
    if (removed.length === 0) return waiting;
    for (const notice of removed) {
      const id = notice.alertId;
      const alert = await store.get(id);
      if (alert === undefined) continue;
      if (!isWebhook(destination)) await follow(notice, telling);
      else if (isOpen(alert.state))
        await run({ kind: "readdressed", id, notice, to: addressOf(notice, alert, config) });
      else await run({ kind: "unposted", id, destination, notice });
    }
    // Done twice after a crash in between, they are at the new address and at the fallback once.
    await store.removeNotices(removed.map(({ id }) => id));
  }
}

/** A step of its route sends to this webhook: the page's own, or one that came later. */
export const isStepOf = ({ destination, key }: Notice, { routes }: AlertsConfig): boolean =>
  stepsOf(key, routes).some(({ webhook }) => webhook === destination);

/** The webhook to which the settings send this page now; undefined when its step has none any more. */
function addressOf({ key }: Notice, alert: Alert, { routes }: AlertsConfig): string | undefined {
  const { route = "", step } = stepOf(stepIn(key) ?? "") ?? {};
  return stepTaken(urgingOf(alert, { name: route }), Number(step), stepsOf(key, routes)).now?.webhook;
}

const stepsOf = (key: string, routes: AlertsConfig["routes"]) =>
  routes[stepOf(stepIn(key) ?? "")?.route ?? ""]?.escalate ?? [];
