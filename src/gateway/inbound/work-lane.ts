/**
 * Takes a lane's rows, one at a time and in order: counts the attempt on disk, handles, settles. A row that fails is tried again at the
 * head of its lane. A row that keeps failing, or keeps crashing the process, becomes a dead letter and the lane goes on.
 */

import { addressOf } from "../../domain/chat/event.js";
import { MAY_CRASH } from "../../domain/deliveries/letters.js";
import { queueOf } from "../../domain/deliveries/outbox-queue.js";
import type { NewDelivery, Settlement } from "../../domain/store.js";
import { HookConditionError, HookFailedError, loggableError } from "../../hooks/errors.js";
import { errorMessage } from "../../lib/errors.js";
import { MAX_PAUSE_MS, pauseAfter } from "../../lib/time/backoff.js";
import type { Clock } from "../../lib/time/clock.js";
import { type Lane, type LaneRow, startOf, triesCounted } from "../conversation.js";
import { handle } from "../inbound.js";
import { newlyStored } from "../new-rows.js";
import { hasHooks } from "../outbound/decide.js";
import { isLaneBehindFormer, wakeLaneFollower } from "../outbound/follow-move.js";
import type { Intake } from "./accept.js";
import { givenUpNote } from "./given-up.js";
import type { Handling } from "./handling.js";
import { shareHolder } from "./not-taken.js";
import type { Inbound } from "./receiving.js";
import { sightsOf } from "./sights-of.js";

/** Rows handled in one pass, before another lane gets its turn. */
const IN_A_ROW = 20;

/** Gives the time of the next pass, if one is needed. */
export async function workLane(lane: Lane, intake: Intake, inbound: Inbound): Promise<number | undefined> {
  for (let n = 0; n < IN_A_ROW && !intake.isStopping(); n++) {
    if (isLaneBehindFormer(lane, inbound)) return undefined;
    const row = await lane.next();
    if (!row) return wakeLaneFollower(lane, inbound);
    const leftMs = leftOf(row, inbound);
    if (leftMs > 0) return inbound.clock.now() + leftMs;
    if (!intake.suspects.enter(row, lane)) return undefined;
    try {
      const later = await workRow(row, lane, intake, inbound);
      if (later !== undefined) return later;
      lane.finished();
    } finally {
      intake.suspects.leave(row);
    }
    intake.pressure.finished(shareHolder(row.event));
  }
  return inbound.clock.now();
}

/**
 * How long a row that was put off still waits. A wait that is longer than the settings or a platform can ask for was set before the
 * system clock was moved, and has ended.
 */
function leftOf({ status, dueAt, dueMs, error }: LaneRow, { clock, config }: Inbound): number {
  if (status !== "deferred") return 0;
  if (dueMs !== undefined) return dueMs - clock.monotonic();
  const leftMs = dueAt - clock.now();
  const furthestMs = error === undefined ? config.max_deferral : Math.max(MAX_PAUSE_MS, config.retry_max);
  return leftMs > furthestMs ? 0 : leftMs;
}

/** The row whose attempt can be counted in the transaction that settles the one before it. */
function nextToStart({ second }: Lane, { isStopping, suspects }: Intake, { config }: Inbound): LaneRow | undefined {
  const next = isStopping() || !suspects.isIdle ? undefined : second;
  return next?.status === "waiting" && !next.isStarted && triesCounted(next) < config.inbox_attempts ? next : undefined;
}

/** Undefined when the row is finished; else when to come back to it. */
async function workRow(row: LaneRow, lane: Lane, intake: Intake, inbound: Inbound): Promise<number | undefined> {
  const { config } = inbound;
  if (!row.handled) {
    if (!row.isStarted) {
      if (triesCounted(row) >= config.inbox_attempts) return bury(row, cutOffReason(row), inbound, MAY_CRASH);
      await start(row, inbound);
    }
    row.isStarted = false;
    try {
      row.handled = await handle(row, inbound);
      inbound.stops.ended(startOf(row));
    } catch (error) {
      inbound.stops.ended(startOf(row));
      return tryAgain(row, error, inbound);
    }
  }
  const { handled } = row;
  if (handled.kind === "deferred") return storeDeferral(row, handled, inbound);
  await settle(row, handled, lane, intake, inbound);
  return undefined;
}

/** Counts the attempt on disk. */
async function start(row: LaneRow, { store, stops }: Inbound): Promise<void> {
  row.attempts = await store.inbox.start(row.id);
  stops.started(startOf(row), row.attempts, row.isCutOff);
  row.status = "running";
  row.isStarted = true;
}

async function settle(
  row: LaneRow,
  handled: Extract<Handling, { kind: "settled" }>,
  lane: Lane,
  intake: Intake,
  inbound: Inbound,
): Promise<void> {
  const { outcome, claimedBy, reason = row.passedOver?.reason, deliveries, pending } = handled;
  const { store, clock, observe, conversations, watch, stops, logger } = inbound;
  const sights = watch?.isWanted() ? sightsOf(row, handled, inbound) : [];
  const only = deliveries.length === 1 ? deliveries[0] : undefined;
  const askedBefore = only !== undefined && hasHooks(inbound) && mayHaveAsked(row) ? 1 : 0;
  if (only !== undefined && askedBefore > 0 && row.stops) stops.notedBefore(only.id);
  // A row that was started once cannot have been settled before.
  const reply =
    only && row.attempts === 1 && askedBefore === 0 ? await inbound.replyAtOnce(only, lane.conversation) : undefined;
  if (only && reply) {
    row.wasAsked = true;
    // The clock may have been set meanwhile.
    only.expiresAt = reply.delivery.expiresAt;
  }
  const now = clock.now();
  const settlement: Settlement = { outcome, claimedBy, reason, deliveries, sights, pending };
  settlement.decided = reply?.decided;
  settlement.asked = reply?.delivery.asked ?? askedBefore;
  const next = nextToStart(lane, intake, inbound);
  const settling = store.inbox.settle(row.id, settlement, now);
  // Asked for in the same turn: one commit for both.
  const starting = next ? start(next, inbound) : undefined;
  let seqs: readonly number[] | undefined;
  try {
    seqs = await settling;
  } catch (error) {
    reply?.notStored();
    await starting?.catch(() => {}); // as settling failed
    throw error;
  }
  if (!seqs) logger.warn({ row: row.id }, "it was settled before; nothing was written");
  stops.forget(startOf(row));
  if (reply) {
    const [seq = 0] = seqs ?? [];
    if (seq > 0) reply.stored(seq);
    else reply.notStored();
  } else
    for (const [i, seq] of (seqs ?? []).entries()) {
      const delivery = deliveries[i] as NewDelivery;
      const queue = conversations.queueFor(delivery, lane.conversation);
      queue.offer(newlyStored(delivery, seq, now, askedBefore));
      conversations.wake(queue);
    }
  if (seqs) for (const sight of sights) watch?.seen(sight);
  if (seqs && pending) inbound.pending.added(pending);
  observe.eventSettled?.(addressOf(row.event).platform, outcome, now - row.receivedAt);
  await starting;
}

/** Hooks may have been asked about the reply when the row was handled before: a crash cut that off, or the store refused it. */
const mayHaveAsked = ({ attempts, round, wasAsked }: LaneRow) => wasAsked === true || attempts > round;

async function storeDeferral(
  row: LaneRow,
  { delayMs, by }: Extract<Handling, { kind: "deferred" }>,
  { store, clock }: Inbound,
): Promise<number> {
  const dueAt = clock.now() + delayMs;
  await store.inbox.defer(row.id, dueAt);
  row.deferrals++;
  row.putOff = { by, askedMs: delayMs };
  return waitUntil(row, dueAt, clock);
}

async function tryAgain(row: LaneRow, thrown: unknown, inbound: Inbound): Promise<number | undefined> {
  const { store, clock, config, logger } = inbound;
  const error = errorMessage(thrown);
  const attempt = Math.max(1, triesCounted(row));
  // If the condition of a guard has no answer for this message now, it has none later.
  const isSettled = thrown instanceof HookFailedError && thrown.cause instanceof HookConditionError;
  if (isSettled || attempt >= config.inbox_attempts) return bury(row, error, inbound, loggableError(thrown));
  const dueAt = clock.now() + pauseAfter(thrown, { firstMs: config.retry_first, maxMs: config.retry_max }, attempt);
  logger.warn(
    { row: row.id, lane: row.lane, attempt, error: loggableError(thrown) },
    "handling failed; it is tried again",
  );
  await store.inbox.defer(row.id, dueAt, error);
  return waitUntil(row, dueAt, clock);
}

function waitUntil(row: LaneRow, dueAt: number, clock: Clock): number {
  row.status = "deferred";
  row.isCutOff = false;
  row.round++;
  row.dueAt = dueAt;
  row.dueMs = clock.monotonic() + (dueAt - clock.now());
  delete row.handled;
  return dueAt;
}

/** An error of an earlier attempt does not hide that the last one was cut off: `/outbox retry all` leaves such a message out. */
function cutOffReason(row: LaneRow): string {
  if (row.error === undefined) return `it was cut off ${triesCounted(row)} times: ${MAY_CRASH}`;
  return row.isCutOff
    ? `its last attempt was cut off: ${MAY_CRASH}; an earlier attempt failed: ${row.error}`
    : row.error;
}

/** `logged`: the reason for the log, without the words of a hook. */
async function bury(row: LaneRow, error: string, inbound: Inbound, logged: string): Promise<undefined> {
  const { store, clock, logger, observe } = inbound;
  const now = clock.now();
  logger.error({ row: row.id, lane: row.lane, error: logged }, "handling is given up: dead letter");
  const notice = await givenUpNote(row, inbound);
  await store.inbox.dead(row.id, error, now, notice);
  inbound.stops.forget(startOf(row));
  if (notice) inbound.wakeOutbox(queueOf(notice));
  observe.eventSettled?.(addressOf(row.event).platform, "dead", now - row.receivedAt);
  return undefined;
}
