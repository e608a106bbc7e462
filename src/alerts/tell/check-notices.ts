/**
 * Looks after reminders and escalations on their way. One that does not arrive goes to another chat, where its people are called, and is an
 * alert itself.
 */
import type { Notice } from "../../domain/alerts/alert.js";
import { noticeWords } from "../../domain/alerts/notice-words.js";
import { hasExpired } from "../../domain/deliveries/given-up.js";
import { isUnderWay } from "../../domain/store.js";
import { groupBy } from "../../lib/group-by.js";
import { isAboutPlace } from "../own-alerts.js";
import type { Loss } from "../plan.js";
import { readMention } from "../rota/people.js";
import { newestReminders } from "../steps/remind.js";
import { BEHIND, PAGED, PAUSED, withdrawIfNotNeeded } from "./called-off.js";
import { recordPosted } from "./held-back.js";
import { isElsewhere } from "./is-elsewhere.js";
import { CHECK_AGAIN_MS, isPausedTooLong, waitsUntil } from "./late.js";
import { callsFormer } from "./pages/call-present.js";
import { mentionsOthers, withoutPaged } from "./pages/paged-elsewhere.js";
import { isLost, lossOf, noteArrival, noteRefusal, raiseUnsaid } from "./pages/undelivered.js";
import type { Telling } from "./telling.js";

/** A page that is refused with a short pause has to be enqueued again before that ends. */
const ASK_PAGE_AGAIN_MS = 5_000;
/** The outbox ends an expired message a moment later. A message that is still under way then may have been posted. */
const PATIENCE_MS = 2 * CHECK_AGAIN_MS;

export async function checkNotices(destination: string, telling: Telling): Promise<number | undefined> {
  const { store, clock, config } = telling;
  const now = clock.now();
  const pause = telling.pauseOf(destination);
  let next: number | undefined;
  const groups = groupBy(await store.unsettledNotices(destination), (one) => one.deliveryId ?? "");
  for (const notices of groups) {
    const [{ deliveryId = "", kind, sentAt }] = notices as [Notice];
    const delivery = await telling.deliveryOf(deliveryId);
    if (await withdrawIfNotNeeded(notices, delivery, telling)) {
      await store.requeueNotices(notices.map(({ id }) => id));
      continue;
    }
    const waits = delivery !== undefined && isUnderWay(delivery);
    // The chat has been paused since the message was enqueued: its words would be old. A page that was tried was refused, not posted.
    const isOld = delivery?.attempts === 0 ? isPausedTooLong(pause, delivery.createdAt, config) : kind === "escalation";
    if (waits && pause && isOld) {
      if (isPausedTooLong(pause, sentAt ?? delivery.createdAt, config) && !(await isElsewhere(notices, telling)))
        await lose(destination, notices, lossOf(destination, delivery, telling), telling);
      if (await telling.withdraw(deliveryId, PAUSED)) {
        await requeue(destination, notices, telling);
        continue;
      }
    }
    if (
      waits &&
      ((await mentionsOthers(destination, notices, delivery, telling)) ||
        (delivery.attempts === 0 && (await callFormer(notices, telling))))
    ) {
      if (await telling.withdraw(deliveryId, PAGED)) {
        await requeue(destination, notices, telling);
        await withdrawNewerPages(destination, notices, groups, telling);
        continue;
      }
    }
    if (delivery && hasExpired(delivery)) {
      if (!(await isElsewhere(notices, telling)))
        await lose(destination, notices, lossOf(destination, delivery, telling), telling);
      await requeue(destination, notices, telling);
      await telling.discard([deliveryId]);
      await withdrawNewerPages(destination, notices, groups, telling);
      continue;
    }
    if (waits && now < waitsUntil(delivery, config) + PATIENCE_MS) {
      const again = now + (kind === "escalation" ? ASK_PAGE_AGAIN_MS : CHECK_AGAIN_MS);
      next = Math.min(next ?? again, again);
      continue;
    }
    // The message is behind others of its chat, and ends as expired when it is their turn.
    if (delivery?.status === "waiting" && (delivery.expiresAt ?? now + 1) <= now) {
      if (!(await isElsewhere(notices, telling)))
        await lose(destination, notices, lossOf(destination, delivery, telling), telling);
      next = now + CHECK_AGAIN_MS;
      continue;
    }
    const isKnown = telling.inhibitors.refuses(destination);
    // Work that is done twice after a crash in between changes nothing the second time.
    if (delivery) noteRefusal(destination, delivery, telling);
    if (delivery && (waits || isLost(delivery)))
      await lose(destination, notices, lossOf(destination, delivery, telling), telling);
    if (delivery?.status === "sent") {
      await noteArrival(destination, telling);
      await recordPosted(notices, delivery, telling);
    }
    await store.settleNotices(notices.map(({ id }) => id));
    // The fallback has it, and an open alert reported before that this chat refuses: another dead letter would be no news.
    if (isKnown && delivery?.status === "dead") await telling.discard([deliveryId]);
  }
  return next;
}

/** A page that was tried may have arrived: it is given up first. */
async function callFormer(notices: readonly Notice[], telling: Telling): Promise<boolean> {
  for (const notice of notices) if (await callsFormer(notice, telling)) return true;
  return false;
}

/** Enqueues notices again, except a reminder with a later one of its route on its way: that one covers it and would be posted before it. */
async function requeue(destination: string, notices: readonly Notice[], { store }: Telling): Promise<void> {
  for (const notice of notices) {
    const posted = await store.postedWith(notice.alertId, destination);
    const later = posted.filter(({ id, alertId }) => id > notice.id && alertId === notice.alertId);
    if (newestReminders([notice, ...later]).includes(notice)) await store.requeueNotices([notice.id]);
    else await store.settleNotices([notice.id]);
  }
}

/** A page is enqueued again: newer pages that wait would be posted before it, and are enqueued again after it. */
async function withdrawNewerPages(
  destination: string,
  [expired]: readonly Notice[],
  groups: readonly (readonly Notice[])[],
  telling: Telling,
): Promise<void> {
  if (expired?.kind !== "escalation") return;
  for (const notices of groups) {
    const [first] = notices;
    if (!first?.deliveryId || first.kind !== "escalation" || first.id <= expired.id) continue;
    if (!(await telling.withdraw(first.deliveryId, BEHIND))) continue;
    // The limit of the page starts again, and its people must not wait for that.
    if (!(await isElsewhere(notices, telling)))
      await lose(destination, notices, { fate: "waiting", reason: BEHIND }, telling);
  }
}

/** Sends the lost message elsewhere, and raises an alert about it. */
export async function lose(
  destination: string,
  notices: readonly Notice[],
  loss: Loss,
  telling: Telling,
): Promise<void> {
  const { store, logger, run } = telling;
  const { fate, reason } = loss;
  logger.error({ destination, reason, fate }, "messages about alerts did not arrive in time");
  let isOwn = true;
  for (const one of notices) {
    const { alertId, kind, key, mentions } = one;
    const alert = await store.get(alertId);
    if (!alert || isAboutPlace(alert)) continue;
    isOwn = false;
    const notice = { ...noticeWords(one), kind, key, mentions };
    const kept = (await withoutPaged(one, alert, telling)).mentions;
    const called = mentions.filter((mention) => !kept.includes(mention)).map((mention) => readMention(mention).name);
    await run({ kind: "undelivered", id: alertId, destination, ...loss, notice, called });
  }
  // No further alert when the alert about alerting cannot be delivered either. One message in doubt proves nothing about its chat.
  if (!isOwn && fate !== "in doubt") await raiseUnsaid(destination, loss, telling);
}
