/** Decides what follows from a request that was not plainly sent. Only this file decides about retries, dead letters and other ways out. */
import type { Adapter, SendResult } from "../../../domain/chat/adapter.js";
import { openlyId } from "../../../domain/chat/openly.js";
import { CHAT_GONE, IN_DOUBT, mayBeShown, saysInDoubt } from "../../../domain/deliveries/given-up.js";
import { queueOf, waitsAlone } from "../../../domain/deliveries/outbox-queue.js";
import { partCountText } from "../../../domain/deliveries/part-count.js";
import type { Delivery, DeliveryPart, NewDelivery } from "../../../domain/store.js";
import { newId } from "../../../lib/id.js";
import { backoffMs, MAX_PAUSE_MS } from "../../../lib/time/backoff.js";
import { DAY_MS, formatDuration } from "../../../lib/time/duration.js";
import { endsBefore, givenUpReason, orExpiry } from "../expiry.js";
import { finish } from "../finish.js";
import { followMove, recordMove } from "../follow-move.js";
import type { Outbound, Then } from "../sending.js";
import { keepsItsWay, mayRepeat } from "./doubt.js";
import { askPrivately, postAnew, withoutFormat, withoutInteraction } from "./reencode.js";
import { reopenThread } from "./reopen-thread.js";
import { waitForFile } from "./wait-for-file.js";

/** A longer time is a mistake of the server that sent it: its length has no meaning. */
const YEAR_MS = 366 * DAY_MS;

/**
 * Later deliveries of the conversation may pass one in doubt, an edit or a deletion after 3 attempts, if 1.5 s have gone by since it was
 * stored, or after one attempt of 5 s.
 */
const ATTEMPTS_IN_ORDER = 3;
const IN_ORDER_MS = 1_500;
const PATIENCE_MS = 5_000;

type Unsent = Exclude<SendResult, { kind: "sent" }>;

export async function takeResult(
  result: Unsent,
  delivery: Delivery,
  part: DeliveryPart,
  adapter: Adapter,
  out: Outbound,
  tookMs: number,
): Promise<Then> {
  switch (result.kind) {
    case "retry":
      if (result.scope === "file") return waitForFile(delivery, result.afterMs, result.error, out);
      if (result.afterMs !== undefined) {
        const { afterMs, scope, error, isUntried } = result;
        const askedMs = result.isGrowing ? Math.max(afterMs, nextPauseMs(delivery, out)) : afterMs;
        return waitAsAsked(delivery, { askedMs, scope, why: error, isUntried }, out);
      }
      return result.scope === "bot"
        ? waitForPlatform(delivery, result.error, out)
        : tryAgain(delivery, part, "dead", result.error, tookMs, out);
    case "ambiguous": {
      const restMs = out.outages.unanswered(delivery, result.error, adapter);
      return (result.mayRepeat !== false || out.config.ambiguous === "resend") &&
        mayRepeat(delivery, part, adapter, out)
        ? tryAgain(delivery, part, "held", `${IN_DOUBT}: ${result.error}`, tookMs, out, restMs)
        : finish(tried(delivery), "held", `${IN_DOUBT}: ${result.error}`, out);
    }
    case "format":
      return (
        (await withoutFormat(delivery, part, result.error, adapter, out)) ?? holdInDoubt(delivery, result.error, out)
      );
    case "moved": {
      await recordMove(delivery.address, result.toChatId, out, out.wake);
      // The platform refused the request, so the part is not in doubt.
      return followMove(notPosted(delivery), { ...delivery.address, chatId: result.toChatId }, adapter, out);
    }
    case "gone":
      if (!result.isNowhere && keepsItsWay(part, out)) return holdInDoubt(delivery, result.error, out);
      if (part.operation === "edit") return postAnew(delivery, part, result.isLeft === true, adapter, out);
      return finish(tried(delivery), "dead", withPartCount(delivery, result.error), out);
    case "interaction-closed":
      // A change finds its message without the interaction, too.
      if (!result.isUnposted && part.operation === "create" && keepsItsWay(part, out))
        return holdInDoubt(delivery, result.error, out);
      return withoutInteraction(delivery, adapter, out);
    case "permanent": {
      const thread = result.isChatGone && (await reopenThread(delivery, adapter, out));
      if (thread === "later") {
        const why = `${result.error}: another thread is opened in place of the one that was deleted`;
        return waitAsAsked(delivery, { askedMs: nextPauseMs(delivery, out), scope: "delivery", why }, out);
      }
      if (thread) return followMove(shownNowhere(delivery), thread, adapter, out);
      // An earlier request may have posted the part that is refused now. A chat that is gone shows no correction.
      if (mayBeShown(part) && !(result.isChatGone && part.operation === "edit"))
        return holdInDoubt(delivery, result.error, out);
      // The notice that there is no answer is refused in the answer's place, too: the person is notified privately.
      if (delivery.isCourtesy && delivery.interaction) return withoutInteraction(delivery, adapter, out);
      const asked = await askPrivately(delivery, adapter, out);
      if (asked) return asked;
      await sayOpenly(delivery, out);
      const error = result.isChatGone ? `${CHAT_GONE}: ${result.error}` : result.error;
      return finish(tried(delivery), "dead", withPartCount(delivery, error), out);
    }
  }
}

interface AskedPause {
  askedMs: number;
  scope: "delivery" | "chat" | "bot";
  why: string;
  /** No request was made. */
  isUntried?: boolean | undefined;
}

/** The platform asked for a time. The time is kept on disk, and does not use up attempts. A pause beyond reason is cut, and reported. */
async function waitAsAsked(
  delivery: Delivery,
  { askedMs, scope, why, isUntried }: AskedPause,
  out: Outbound,
): Promise<Then> {
  const isCut = askedMs > MAX_PAUSE_MS;
  const now = out.clock.now();
  const dueAt = now + Math.min(Math.max(0, askedMs), MAX_PAUSE_MS);
  const error = isCut
    ? `asked for a pause of ${askedMs > YEAR_MS ? "more than a year" : formatDuration(askedMs)}, cut to ${formatDuration(MAX_PAUSE_MS)}: ${why}`
    : why;
  if (isCut) {
    const { platform } = delivery.address;
    out.logger.warn({ platform, conversation: delivery.conversation, scope, askedMs }, `${platform} ${error}`);
  }
  // The limit of an interaction is not its chat's.
  const paused = scope === "delivery" || (scope === "chat" && delivery.interaction !== undefined) ? undefined : scope;
  const pause = () => paused && out.pauses.set(delivery.address, paused, dueAt - now, error, now);
  if (endsBefore(delivery, dueAt)) {
    await pause();
    return giveUp(delivery, "dead", givenUpReason(delivery, error, dueAt, now, out.config.ttl), out);
  }
  if (scope === "delivery" && delivery.operation !== "send" && !waitsAlone(delivery))
    return stepAside(delivery, { dueAt, error, isWait: true, isUntried }, out);
  // Asked for in one turn, so that both are in one transaction.
  const { outbox } = out.store;
  const later = isUntried
    ? outbox.postpone(delivery.id, dueAt, error)
    : outbox.retryAt(delivery.id, dueAt, error, { isWait: true });
  await Promise.all([pause(), later]);
  return orExpiry(delivery, dueAt);
}

/**
 * Nothing reaches the platform: no fault of this delivery, so its attempts do not end it, only its time to live. The others need
 * not find out one by one, unless it turns out to be this one's fault after all.
 */
function waitForPlatform(delivery: Delivery, error: string, out: Outbound): Promise<Then> {
  const isFew = delivery.attempts + 1 < out.config.outbox_attempts;
  return waitAsAsked(delivery, { askedMs: nextPauseMs(delivery, out), scope: isFew ? "bot" : "chat", why: error }, out);
}

/** Longer with each attempt. */
function nextPauseMs({ attempts }: Pick<Delivery, "attempts">, { config }: Outbound): number {
  return backoffMs({ firstMs: config.retry_first, maxMs: config.retry_max }, attempts + 1);
}

/** Attempts that were spent on waits do not count against the delivery. */
const usedAttempts = ({ attempts, waits }: Delivery) => attempts - waits;

/**
 * Later, with growing pauses; after the last attempt it ends as `ending`. Only its time to live ends a change in doubt: repeating it is
 * harmless. `restMs`: its platform takes no messages, so others do not pass it, and only its age ends it.
 */
async function tryAgain(
  delivery: Delivery,
  part: DeliveryPart,
  ending: "dead" | "held",
  error: string,
  tookMs: number,
  out: Outbound,
  restMs?: number,
): Promise<Then> {
  const attempts = usedAttempts(delivery) + 1;
  const isInDoubt = ending === "held";
  const isEndless = restMs !== undefined || (part.operation !== "create" && (isInDoubt || mayBeShown(part)));
  if (!isEndless && attempts >= out.config.outbox_attempts)
    return giveUp(delivery, ending, withPartCount(delivery, error), out);
  const now = out.clock.now();
  const dueAt = now + (restMs ?? nextPauseMs({ attempts: usedAttempts(delivery) }, out));
  if (endsBefore(delivery, dueAt))
    return giveUp(delivery, ending, givenUpReason(delivery, error, dueAt, now, out.config.ttl), out);
  const mayPass = restMs === undefined && (isInDoubt || delivery.operation !== "send");
  // Time before this start does not count: a crash keeps the order.
  const wasTriedLong =
    attempts >= ATTEMPTS_IN_ORDER && now - Math.max(delivery.createdAt, out.startedAt) >= IN_ORDER_MS;
  if (mayPass && (wasTriedLong || tookMs >= PATIENCE_MS) && !waitsAlone(delivery))
    return stepAside(delivery, { dueAt, error, isInDoubt }, out);
  const isWait = restMs !== undefined;
  await out.store.outbox.retryAt(delivery.id, dueAt, error, { mayHaveArrived: isInDoubt, isWait });
  return orExpiry(delivery, dueAt);
}

/** Ends the delivery; it is held when an earlier request may have posted a part of it. */
function giveUp(delivery: Delivery, ending: "dead" | "held", reason: string, out: Outbound): Promise<Then> {
  return delivery.parts.some(mayBeShown)
    ? holdInDoubt(delivery, reason, out)
    : finish(tried(delivery), ending, reason, out);
}

/** Another way to post it could show it twice: the request before this one may have posted it. */
function holdInDoubt(delivery: Delivery, last: string, out: Outbound): Promise<Then> {
  return finish(tried(delivery), "held", withDoubt(last), out);
}

const withDoubt = (reason: string) => (saysInDoubt(reason) ? reason : `${IN_DOUBT}; last: ${reason}`);

interface Aside {
  dueAt: number;
  error: string;
  isInDoubt?: boolean;
  isWait?: boolean;
  isUntried?: boolean | undefined;
}

/** The delivery goes on alone, and later ones of its queue pass: they may arrive before it. */
async function stepAside(
  delivery: Delivery,
  { dueAt, error, isInDoubt = false, isWait = false, isUntried }: Aside,
  out: Outbound,
): Promise<Then> {
  const left = delivery.parts.filter((part) => part.status !== "sent");
  const { outbox } = out.store;
  await Promise.all([
    outbox.reencode(delivery.id, left, { isApart: true }),
    isUntried
      ? outbox.postpone(delivery.id, dueAt, error)
      : outbox.retryAt(delivery.id, dueAt, error, { mayHaveArrived: isInDoubt, isWait }),
  ]);
  out.wake(queueOf({ ...delivery, isApart: true }));
  return "again";
}

/** For another operation on its message, in another queue: nothing else of its own queue waits for that. */
export async function waitAside(delivery: Delivery, dueAt: number, error: string, out: Outbound): Promise<Then> {
  if (waitsAlone(delivery)) return orExpiry(delivery, dueAt);
  return stepAside(delivery, { dueAt, error, isUntried: true }, out);
}

function notPosted(delivery: Delivery): Delivery {
  const parts = delivery.parts.map(
    (part): DeliveryPart => (part.status === "sending" ? { ...part, status: "waiting" } : part),
  );
  return { ...delivery, parts };
}

/** The chat is gone: no request of the delivery shows there. A platform may still know a nonce that it got there. */
function shownNowhere(delivery: Delivery): Delivery {
  const parts = delivery.parts.map(
    (part): DeliveryPart =>
      part.status === "sent" ? part : { ...part, nonce: newId("n"), status: "waiting", mayHaveArrived: undefined },
  );
  return { ...delivery, parts };
}

const tried = (delivery: Delivery): Delivery => ({ ...delivery, attempts: delivery.attempts + 1 });

const withPartCount = ({ parts }: Delivery, error: string) => `${error}${partCountText(parts)}`;

/**
 * A person who cannot be reached privately is notified of a refusal where they asked, in words that give nothing away. The notice is a
 * delivery of its own, through its own hooks. Its id makes it the only one for this person and place in its ten minutes, or for one message
 * of theirs (`isForEach`).
 */
async function sayOpenly(delivery: Delivery, out: Outbound): Promise<void> {
  const { openly, cause, skipsHooks, urgency } = delivery;
  const id = openlyId(delivery);
  if (!openly || id === undefined) return;
  const { address, message } = openly;
  const now = out.clock.now();
  const word: NewDelivery = {
    id,
    address,
    operation: "send",
    message,
    cause,
    expiresAt: now + out.config.ttl,
    isCourtesy: true,
    urgency,
    skipsHooks: skipsHooks === true,
  };
  await out.store.outbox.enqueue([word], now);
  out.wake(queueOf(word));
}
