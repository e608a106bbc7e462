/**
 * Sends the announcements of a clock: asks hooks, raises the alert, notifies hooks. The progress is on disk before the next step,
 * dispatches keep their ids, and alerts are distinguished by fingerprint and episode: a crash anywhere in between neither loses nor doubles
 * an announcement.
 */
import type { RaiseAlert } from "../../domain/alerts/alert-signal.js";
import type { SlaAnnouncement, SlaNews, SlaStore } from "../../domain/alerts/sla.js";
import type { Attempts } from "../../hooks/attempts.js";
import { HookFailedError } from "../../hooks/errors.js";
import type { DispatchOptions } from "../../hooks/options.js";
import type { LifecyclePhase } from "../../hooks/point.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { errorMessage } from "../../lib/errors.js";
import { groupBy } from "../../lib/group-by.js";
import type { Logger } from "../../lib/logger.js";
import { backoffMs } from "../../lib/time/backoff.js";
import type { Clock } from "../../lib/time/clock.js";
import { OWN_KIND } from "../own-alerts.js";

export interface AnnounceDeps {
  store: SlaStore;
  registry: Pick<HookRegistry, "runBefore" | "runAfter" | "hasFailClosed">;
  attempts: Pick<Attempts, "inTurn" | "count" | "tooMany" | "forget">;
  raise: RaiseAlert;
  /** Other effects of a violated policy besides messages. May be asked again after a crash. */
  violated(news: SlaNews): Promise<void>;
  clock: Clock;
  logger: Logger;
}

const POINT = "quality:sla";

/** A fail-closed hook is to decide, and hooks are not called again, because they crashed the process too often. */
class UndecidedError extends Error {}

/** Announcements under way at once. */
const PAGE = 64;
/**
 * After 5 failures of a fail-closed hook an alert is raised; after 12, about a quarter of an hour after the first, the announcement is
 * given up.
 */
const TOLD_AFTER = 5;
const MAX_FAILED = 12;
const BACKOFF = { firstMs: 1_000, maxMs: 300_000 };

/** Sends all announcements that are due, in order for each clock. Returns the time of the next pass. */
export async function announceWaiting(deps: AnnounceDeps): Promise<number | undefined> {
  const { store, clock } = deps;
  const now = clock.now();
  const waiting = await store.toAnnounce(now, PAGE);
  await Promise.all(
    groupBy(waiting, ({ clockId }) => clockId).map(async (ofOne) => {
      for (const announcement of ofOne) if (!(await tried(announcement, deps))) break;
    }),
  );
  return waiting.length === PAGE ? clock.now() : store.nextAnnouncement();
}

/** False when the announcement is tried again later. */
async function tried(announcement: SlaAnnouncement, deps: AnnounceDeps): Promise<boolean> {
  const { store, clock, logger } = deps;
  let attempt = 0;
  const countAttempt = async () => {
    if (attempt === 0) attempt = await store.beginAnnouncement(announcement.id);
    return attempt;
  };
  try {
    await announce(announcement, countAttempt, deps);
    if (attempt > TOLD_AFTER)
      await deps.raise({ ...undecided(announcement), state: "resolved", reason: "it was decided" });
    return true;
  } catch (error) {
    const reason = errorMessage(error);
    const isUndecided = error instanceof UndecidedError;
    const isGivenUp = isUndecided || (error instanceof HookFailedError && attempt >= MAX_FAILED);
    logger.error({ announcement: announcement.id, attempt, error: reason }, "an SLA announcement failed");
    if (isUndecided || (error instanceof HookFailedError && attempt >= TOLD_AFTER))
      await deps.raise({ ...undecided(announcement), state: "firing", reason });
    if (isGivenUp) await giveUp(announcement, reason, deps);
    else
      await Promise.all([
        store.postpone(announcement.clockId, clock.now() + backoffMs(BACKOFF, Math.max(1, attempt)), reason),
        deps.attempts.forget(announcement.id),
      ]);
    return isGivenUp;
  }
}

/** An alert that was raised before ends all the same. Another alert reports by now that the rest is not announced. */
async function giveUp(announcement: SlaAnnouncement, reason: string, deps: AnnounceDeps): Promise<void> {
  if (announcement.signal.state === "resolved") await raiseIt(announcement, deps);
  await decided(announcement.id, { status: "failed", reason }, deps);
}

/**
 * An alert about alerting: an announcement is not sent, because a hook that must decide cannot. Its text is fixed, so that it stays one
 * alert.
 */
function undecided({ id, at, signal }: SlaAnnouncement) {
  const { title, severity, entity, source, labels } = signal;
  return {
    fingerprint: `alerts:undecided:${id}`,
    episode: 1,
    severity,
    title: `Not announced, because a hook fails: ${title}`,
    at,
    source: { kind: OWN_KIND, id: source.id },
    entity,
    labels: { ...labels, kind: "undecided" },
  };
}

/** `countAttempt` counts the attempt: an announcement that waits for its turn when the process ends was not tried. */
async function announce(
  announcement: SlaAnnouncement,
  countAttempt: () => Promise<number>,
  deps: AnnounceDeps,
): Promise<void> {
  const { store } = deps;
  const { id, clockId, status } = announcement;
  let { news } = announcement;
  const dispatch = (phase: LifecyclePhase) => ({
    dispatchId: `${id}:${phase}`,
    cause: { kind: "alert" as const, id: clockId, depth: 0 },
    // A clock on a conversation is named after its address and a number.
    conversation: news?.entityType === "conversation" ? news.entityId.replace(/#\d+$/, "") : undefined,
  });

  if (status === "pending" && news) {
    const decision = await ask(announcement, news, dispatch("before"), countAttempt, deps);
    if (decision?.cancelled) return vetoed(announcement, decision, deps);
    news = decision?.data ?? news;
    await decided(id, { status: "approved", news }, deps);
  }
  if (status !== "raised") {
    await countAttempt();
    await raiseIt(announcement, deps);
    await store.updateAnnouncement(id, { status: news ? "raised" : "told" });
  }
  if (!news) return;
  if (news.status === "violated") await deps.violated(news);
  await notify(news, dispatch("after"), deps);
  await decided(id, { status: "told" }, deps, dispatch("after").dispatchId);
}

interface Fired extends DispatchOptions {
  dispatchId: string;
}

/**
 * The decision of hooks; undefined when they are not called again after too many crashes. Rejects with `UndecidedError` when one of them
 * must decide.
 */
function ask(
  { id }: SlaAnnouncement,
  news: SlaNews,
  fired: Fired,
  countAttempt: () => Promise<number>,
  { attempts, registry }: AnnounceDeps,
) {
  const { dispatchId } = fired;
  return attempts.inTurn([{ point: POINT, dispatchId }], id, async () => {
    const [attempt, starts] = await Promise.all([countAttempt(), attempts.count(POINT, dispatchId, { owner: id })]);
    const given = await attempts.tooMany(POINT, dispatchId, starts, { owner: id });
    if (given === undefined) return registry.runBefore(POINT, news, { ...fired, attempt });
    if (registry.hasFailClosed(POINT)) throw new UndecidedError(given.reason);
    return undefined;
  });
}

/** Hooks that crashed the process too often are not called again. */
function notify(news: SlaNews, fired: Fired, { attempts, registry }: AnnounceDeps): Promise<void> {
  const { dispatchId } = fired;
  const phase = "after";
  return attempts.inTurn([{ point: POINT, dispatchId, phase }], dispatchId, async () => {
    const attempt = await attempts.count(POINT, dispatchId, { phase });
    const given = await attempts.tooMany(`${POINT} (${phase})`, dispatchId, attempt);
    if (given === undefined) await registry.runAfter(POINT, news, { ...fired, attempt });
  });
}

/** With its count of starts, in one transaction. */
async function decided(
  id: string,
  change: Parameters<SlaStore["updateAnnouncement"]>[1],
  { store, attempts }: AnnounceDeps,
  owner = id,
): Promise<void> {
  await Promise.all([store.updateAnnouncement(id, change), attempts.forget(owner)]);
}

/** The announcement is not sent, and hooks are not asked again. An alert that was raised before ends: it must not outlive its cause. */
async function vetoed(
  announcement: SlaAnnouncement,
  { cancelReason, cancelledBy }: { cancelReason?: string; cancelledBy?: string; data: SlaNews },
  deps: AnnounceDeps,
): Promise<void> {
  if (announcement.signal.state === "resolved") await raiseIt(announcement, deps);
  const reason = cancelReason ?? "no reason given";
  await decided(announcement.id, { status: "vetoed", reason, by: cancelledBy }, deps);
}

/** A signal that ends or changes an alert needs a raised alert: it may have been vetoed. */
async function raiseIt(
  { clockId, episode, signal, news }: SlaAnnouncement,
  { store, raise }: AnnounceDeps,
): Promise<void> {
  if ((signal.state === "resolved" || news === undefined) && !(await store.wasRaised(clockId, episode))) return;
  await raise(signal);
}
