/** Pages that an acknowledgement, a snooze or a rule held back, and that are posted because their alert needs an operator again. */
import { type Alert, type Hold, isOpen, type Notice } from "../../domain/alert.js";
import { stepOfText } from "../steps/fallback.js";
import { isCalledOff } from "../urging.js";
import type { Telling } from "./telling.js";

const HISTORY_MAX = 200;

/** Undefined when the alert has needed an operator since the page was due. */
export async function holdOf(
  { kind, dueAt }: Notice,
  { id, since }: Alert,
  { store }: Telling,
): Promise<Hold | undefined> {
  if (kind !== "escalation" || since < dueAt) return undefined;
  const end = (await store.history(id, HISTORY_MAX)).findLast(
    ({ at, from, to }) =>
      at >= dueAt && from !== undefined && isCalledOff({ state: from }) && isOpen(to) && !isCalledOff({ state: to }),
  );
  return end?.from && { state: end.from, until: end.at };
}

/** Into the history, which says only when the step was taken. `enqueuedAt`: of the message that was posted. */
export async function recordPosted(notices: readonly Notice[], enqueuedAt: number, telling: Telling): Promise<void> {
  const { store, run } = telling;
  for (const notice of notices) {
    const { alertId: id, destination, text, dueAt } = notice;
    const alert = await store.get(id);
    const hold = alert && (await holdOf(notice, alert, telling));
    if (hold === undefined || hold.until > enqueuedAt) continue;
    // A crash came after that.
    const isKnown = (await store.history(id, HISTORY_MAX)).some(
      ({ at, event, actor, reason = "" }) =>
        at >= hold.until && event === "posted" && actor.id === destination && reason.includes(stepOfText(text)),
    );
    if (!isKnown) await run({ kind: "posted", id, destination, text, dueAt, hold });
  }
}
