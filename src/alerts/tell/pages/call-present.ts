/** A page that waits calls the people who are on call when it is posted, and not those who were when it was due. */
import { isOpen, type Notice } from "../../../domain/alerts/alert.js";
import { calledBy, isInstead, isPageKey, stepIn, stepOf } from "../../steps/escalate.js";
import { stepTaken, urgingOf } from "../../urging.js";
import type { Telling } from "../telling.js";

/** Whether the rotas and people now differ from those when the step was taken. A page that already was written again for others stays. */
export async function callsFormer(
  { kind, key, sentTo, copy, alertId, destination }: Notice,
  telling: Telling,
): Promise<boolean> {
  const { route = "", step = "" } = stepOf(stepIn(key) ?? "") ?? {};
  if (kind !== "escalation" || !isPageKey(key) || isInstead(key) || copy) return false;
  const { store, config, clock } = telling;
  const alert = await store.get(alertId);
  if (alert === undefined || !isOpen(alert.state)) return false;
  const escalate = config.routes[route]?.escalate ?? [];
  const { then, now } = stepTaken(urgingOf(alert, { name: route }), Number(step), escalate);
  if (then?.called === undefined || now === undefined) return false;
  const called = calledBy(now, telling, clock.now());
  // A private message may be written after the step was taken, for the current person.
  const isTheirs = sentTo !== undefined && called.includes(telling.personOf(destination) ?? "");
  return !isTheirs && called.join() !== then.called.join();
}

/** Writes such pages again, as rows. False: there were none. */
export async function callPresent(due: readonly Notice[], telling: Telling): Promise<boolean> {
  const former: number[] = [];
  for (const notice of due) {
    if (!(await callsFormer(notice, telling))) continue;
    await telling.run({ kind: "recalled", id: notice.alertId, notice });
    former.push(notice.id);
  }
  if (former.length > 0) await telling.store.assignNotices(former, undefined);
  return former.length > 0;
}
