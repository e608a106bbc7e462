/** Pages that an acknowledgement, a snooze or a rule held back, and that are posted because their alert needs an operator again. */
import { type Alert, type Hold, isOpen, type Notice } from "../../domain/alerts/alert.js";
import type { OutboundMessage } from "../../domain/chat/message.js";
import type { Delivery } from "../../domain/store.js";
import { readMention } from "../rota/people.js";
import { isLossOf, isPostedOf } from "../steps/fallback.js";
import { isCalledOff } from "../urging.js";
import { LATE_PAGE_MS } from "./late.js";
import type { Telling } from "./telling.js";

/** Undefined when the alert has needed an operator since the page was due. */
export async function holdOf(
  { kind, dueAt }: Notice,
  { id, since }: Alert,
  { store }: Telling,
): Promise<Hold | undefined> {
  if (kind !== "escalation" || since < dueAt) return undefined;
  const end = (await store.history(id)).findLast(
    ({ at, from, to }) =>
      at >= dueAt && from !== undefined && isCalledOff({ state: from }) && isOpen(to) && !isCalledOff({ state: to }),
  );
  return end?.from && { state: end.from, until: end.at };
}

/** People of the page whom the message mentions: in a private chat its person at most. */
function namesOf(
  { destination, mentions }: Notice,
  message: OutboundMessage | undefined,
  { personOf }: Telling,
): string[] {
  const reader = personOf(destination);
  const platform = destination.split(":")[0];
  const refs = message?.mentions?.users?.map((id) => `${platform}:${id}`) ?? [];
  const mentioned = mentions
    .map(readMention)
    .filter(({ ref }) => refs.includes(ref) && (reader === undefined || ref === reader));
  return [...new Set(mentioned.map(({ name }) => name))];
}

/**
 * Records pages that were posted late: without that the history shows only when the step was taken, or that the chat had not taken the
 * page.
 */
export async function recordPosted(
  notices: readonly Notice[],
  { createdAt: enqueuedAt, settledAt = enqueuedAt, message }: Pick<Delivery, "createdAt" | "settledAt" | "message">,
  telling: Telling,
): Promise<void> {
  const { store, run } = telling;
  for (const notice of notices) {
    const { alertId: id, destination, waitedSince, dueAt: atEnd } = notice;
    const dueAt = waitedSince ?? atEnd;
    const alert = await store.get(id);
    const hold = alert && (await holdOf(notice, alert, telling));
    const history = await store.history(id);
    const lost = history.findLast((event) => isLossOf(event, notice));
    const isLate = settledAt - dueAt >= LATE_PAGE_MS || waitedSince !== undefined;
    const lateSince = isLate ? dueAt : 0;
    const since = Math.max(lost?.at ?? 0, hold && hold.until <= enqueuedAt ? hold.until : 0, lateSince);
    if (since === 0) continue;
    // A crash came after that.
    if (history.some((event) => event.at >= since && isPostedOf(event, notice))) continue;
    const ended = hold && hold.until <= enqueuedAt ? hold : undefined;
    await run({
      kind: "posted",
      id,
      destination,
      notice,
      dueAt,
      hold: ended,
      mentioned: namesOf(notice, message, telling),
    });
  }
}
