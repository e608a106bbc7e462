/** Pages that a stop or a crash left in the outbox and that are late at the next start: their words are of when they were due. */
import { isUnderWay } from "../../../domain/store.js";
import { groupBy } from "../../../lib/group-by.js";
import { BEHIND, STOPPED } from "../called-off.js";
import { LATE_PAGE_MS } from "../late.js";
import type { Telling } from "../telling.js";

const PAGE = 500;

/** Nothing is sent yet. Newer pages of the chat follow the late one; an expired one goes to the fallback, and is written again then. */
export async function withdrawLatePages(destination: string, telling: Telling): Promise<void> {
  const { store, clock } = telling;
  const now = clock.now();
  // A kill right after a page was enqueued leaves it waiting here as well.
  const left = [...(await store.unsettledNotices(destination)), ...(await store.notices(destination, PAGE))];
  const groups = groupBy(
    left.filter(({ deliveryId }) => deliveryId !== undefined).sort((a, b) => a.id - b.id),
    (one) => one.deliveryId ?? "",
  );
  let reason: string | undefined;
  for (const notices of groups) {
    const [first] = notices;
    const delivery = await telling.deliveryOf(first?.deliveryId ?? "");
    if (first?.kind !== "escalation" || delivery === undefined || !isUnderWay(delivery)) continue;
    if ((delivery.expiresAt ?? Number.POSITIVE_INFINITY) <= now) continue;
    const isLate = now - Math.min(...notices.map(({ dueAt }) => dueAt)) >= LATE_PAGE_MS;
    if (reason === undefined && !isLate) continue;
    if (!(await telling.withdraw(delivery.id, reason ?? STOPPED))) continue;
    await store.requeueNotices(notices.map(({ id }) => id));
    reason = BEHIND;
  }
}
