/**
 * How a message goes out. `sendOne` is the whole flow for one delivery: whether it may go now, the decision about it, and off; each
 * step is a file in `outbound/`.
 * Every message comes through here: an adapter's `send` has no other caller.
 */
import type { Adapter } from "../domain/chat/adapter.js";
import { charactersOf, MAX_CHARACTERS, shortenMessage } from "../domain/chat/long-message.js";
import type { OutboundMessage } from "../domain/chat/message.js";
import { mayHaveArrived, SUPERSEDED } from "../domain/deliveries/given-up.js";
import { queueOf } from "../domain/deliveries/outbox-queue.js";
import type { Decided, Delivery, NewDelivery } from "../domain/store.js";
import { MAX_PAUSE_MS } from "../lib/time/backoff.js";
import type { Conversation, Queue } from "./conversation.js";
import { newlyStored } from "./new-rows.js";
import { type Decision, decide, decideUnstored, hasHooks } from "./outbound/decide.js";
import { expiryReason, isExpired, orExpiry, whenExpired } from "./outbound/expiry.js";
import { type Found, findTarget, NEW } from "./outbound/find-target.js";
import { finish } from "./outbound/finish.js";
import { followMove, isBehindFormer, wakeFollower } from "./outbound/follow-move.js";
import { notifyAsker } from "./outbound/notices/notify-asker.js";
import { notifyOfWithheldCopy } from "./outbound/notices/notify-withheld-copy.js";
import { postsAnew } from "./outbound/outages.js";
import { isOriginalDeleted, retractIfDeleted } from "./outbound/retract.js";
import { freezeAndSend, giveBack, type Prepared, prepare, sendPrepared } from "./outbound/send/freeze-and-send.js";
import { sendParts } from "./outbound/send/send-parts.js";
import { waitAside } from "./outbound/send/take-result.js";
import type { Outbound, Then } from "./outbound/sending.js";
import { sightOfWithheld } from "./outbound/sight-of-copy.js";
import { placeAmongChanges, supersedeDead } from "./outbound/superseded.js";
import { wasChanged } from "./outbound/withdraw.js";

/** Deliveries sent in one pass, before another conversation gets its turn. */
const IN_A_ROW = 20;
/** A change waits for an older one of the same message that is on the wire. */
const RETRY_DELAY_MS = 250;

/**
 * Sends the deliveries that are due in a queue, in order. Gives the time of the next pass, if one is needed. `first`: a stored reply, which
 * is sent during a stop, too.
 */
export function sendNext(queue: Queue, out: Outbound, first?: ReplyAtOnce): Promise<number | undefined> {
  const sending = sendInOrder(queue, first, out);
  return out.gate.hasPasses ? sending.finally(() => out.gate.passUnused(queue.key)) : sending;
}

async function sendInOrder(queue: Queue, first: ReplyAtOnce | undefined, out: Outbound): Promise<number | undefined> {
  try {
    return await sendDue(queue, first, out);
  } finally {
    out.outages.passed(queue.key);
  }
}

async function sendDue(queue: Queue, first: ReplyAtOnce | undefined, out: Outbound): Promise<number | undefined> {
  let reply = first;
  for (let n = 0; n < IN_A_ROW && (reply || !out.isStopping()); n++) {
    // Asked before it is read, so that all that followed is read.
    if (!reply && isBehindFormer(queue.key, out)) return undefined;
    const delivery = reply?.delivery ?? (await queue.next());
    if (!delivery) return wakeFollower(queue.key, out);
    let then: Then;
    try {
      then = await (reply ? reply.send() : sendOne(delivery, out));
    } catch (error) {
      if (!(await wasChanged(delivery, out))) throw error;
      then = "again";
    } finally {
      // A delivery that is not plainly settled is read from the store next time.
      if (then !== "next") queue.read();
    }
    reply = undefined;
    if (then === "next") queue.settled();
    else if (then !== "again") return then;
  }
  return out.clock.now();
}

async function sendOne(delivery: Delivery, out: Outbound): Promise<Then> {
  // Before it is asked whether it may go now: its deletion waits for its end.
  if (delivery.mirrors && (await retractIfDeleted(delivery, out))) return "again";
  const way = wayOf(delivery, out);
  if (typeof way === "function") return way();
  return delivery.operation === "send" ? carryOn(delivery, way, out) : sendChange(delivery, way, out);
}

/** The adapter of a delivery that may go now; else the step to do instead. */
function wayOf(delivery: Delivery, out: Outbound): Adapter | (() => Promise<Then>) {
  const now = out.clock.now();
  if (isExpired(delivery, now)) return () => expire(delivery, now, out);
  // No retry is further off than this, so a later time was set before the clock went back. A wait that a platform asked for is a pause;
  // only a delivery that waits apart has it as its own time.
  const furthestMs = delivery.isApart ? Math.max(MAX_PAUSE_MS, out.config.retry_max) : out.config.retry_max;
  const isBounded = delivery.interaction !== undefined || delivery.dueAt - now <= furthestMs;
  const at = out.moves.current(delivery.address);
  const adapter = out.adapters.online(at.platform);
  // Before its next try is due, so that newer ones in the new chat wait behind it.
  if (adapter && at !== delivery.address) return () => followMove(delivery, at, adapter, out);
  if (delivery.dueAt > now && isBounded && !out.outages.isItsTurn(delivery))
    return async () => orExpiry(delivery, delivery.dueAt);
  if (!adapter) {
    const isUnknown = out.adapters.get(at.platform) === undefined;
    // A delivery from before this start waits: its platform may be switched on again.
    if (isUnknown && delivery.createdAt >= out.startedAt)
      return () => finish(delivery, "dead", `the platform "${at.platform}" is not switched on`, out);
    return async () => park(delivery, out);
  }
  if (isOtherAccount(delivery, out)) return () => finish(delivery, "dead", "it belongs to another bot account", out);
  const isApartFromChat =
    delivery.interaction !== undefined || (adapter.traits.limitsChangesApart === true && !postsAnew(delivery));
  const pausedUntil = isApartFromChat ? out.pauses.untilOfBot(at, now) : out.pauses.until(at, now);
  if (pausedUntil > now) return async () => orExpiry(delivery, pausedUntil);
  return out.outages.holdsBack(delivery) ? async () => park(delivery, out) : adapter;
}

/** Also why it was not tried, where it waited for the end of a pause. */
function expire(delivery: Delivery, now: number, out: Outbound): Promise<Then> {
  const paused = delivery.reason === undefined ? out.pauses.textOf(delivery.address, now) : undefined;
  const cause = paused ?? (isRateLimited(delivery, out) ? "it waited for its turn under the rate limit" : undefined);
  const reason = expiryReason(delivery, out.config.ttl);
  return finish(delivery, "dead", cause === undefined ? reason : `${reason}; ${cause}`, out);
}

/** Hooks decided on it and nothing refused it: only the limiter can still hold back its next part. */
function isRateLimited(delivery: Delivery, { gate, adapters, startedAt }: Outbound): boolean {
  const { status, reason, createdAt, address } = delivery;
  const isHeldBack =
    gate.isClosedTo(delivery) || adapters.online(address.platform) === undefined || createdAt < startedAt;
  return status === "sending" && reason === undefined && !isHeldBack;
}

/** The decision is frozen for a retry, or for a delivery that a crash left: the hooks are not asked again. */
async function carryOn(delivery: Delivery, adapter: Adapter, out: Outbound): Promise<Then> {
  return delivery.status === "sending" ? sendParts(delivery, adapter, out) : decideAndSend(delivery, adapter, out);
}

async function sendChange(delivery: Delivery, adapter: Adapter, out: Outbound): Promise<Then> {
  // A change that a crash cut off goes on: its parts may be half done. So does a change that may have been posted.
  const isCutOff = delivery.parts.some((part) => part.status !== "waiting" || mayHaveArrived(part));
  const place = isCutOff ? "current" : await placeAmongChanges(delivery, out);
  switch (place) {
    case "superseded":
      return finish(delivery, "superseded", SUPERSEDED, out);
    case "later":
      return waitAside(
        delivery,
        out.clock.now() + RETRY_DELAY_MS,
        "it waits for an earlier change of its message that is being sent",
        out,
      );
    case "current":
      return carryOn(delivery, adapter, out);
  }
}

async function decideAndSend(delivery: Delivery, adapter: Adapter, out: Outbound): Promise<Then> {
  const target = delivery.targetId === undefined ? NEW : await findTarget(delivery.targetId, delivery, out);
  if (target.kind === "ended") return finish(delivery, target.status, target.reason, out);
  if (target.kind === "later") return waitAside(delivery, target.at, target.why, out);
  // A deletion has no text that hooks could rewrite.
  if (!delivery.message) return freezeAndSend(delivery, undefined, target.posted, adapter, out, target.hidden);
  const decision = await decide(delivery, delivery.message, out);
  return carryOut(decision, delivery, target, adapter, out);
}

async function carryOut(
  decision: Decision,
  delivery: Delivery,
  { posted, hidden }: Found,
  adapter: Adapter,
  out: Outbound,
): Promise<Then> {
  if (decision.kind !== "send") {
    if (await wasChanged(delivery, out)) return "again";
    await notifyAsker(delivery, decision.kind, decision.reason, out);
    if (decision.kind === "cancelled") await notifyOfWithheldCopy(delivery, out);
    const { kind, reason, logged } = decision;
    return finish(delivery, kind, reason, out, { logged, sight: sightOfWithheld(delivery, kind, out) });
  }
  // Hooks may have taken their time.
  if (delivery.mirrors && (await retractIfDeleted(delivery, out))) return "again";
  await supersedeDead(delivery, out);
  return await freezeAndSend(delivery, shorten(delivery, decision.message, out), posted, adapter, out, hidden);
}

/**
 * A reply in a conversation with nothing else to send: hooks decide on it before its event is settled, so that one commit has the event as
 * done and the reply as decided. Hooks that take longer hold nothing up: the event is settled meanwhile, and the decision is stored later.
 */
export class ReplyAtOnce {
  readonly delivery: Delivery;
  readonly #queue: Queue;
  readonly #adapter: Adapter;
  readonly #out: Outbound;
  #deciding: Promise<Decision> | undefined;
  #prepared: Prepared | undefined;

  private constructor(delivery: Delivery, queue: Queue, adapter: Adapter, out: Outbound) {
    this.delivery = delivery;
    this.#queue = queue;
    this.#adapter = adapter;
    this.#out = out;
  }

  /** Undefined when it has to wait: for open deliveries in its queue, a pause, a crowd. Else `stored` or `notStored` is to be called. */
  static async decide(given: NewDelivery, near: Conversation, out: Outbound): Promise<ReplyAtOnce | undefined> {
    const { conversations, clock } = out;
    const queue = conversations.queueFor(given, near);
    if (!queue.isEmpty || given.message === undefined || isBehindFormer(queue.key, out)) return undefined;
    // Which one goes is decided in its queue.
    if (out.outages.of(given.address.platform)) return undefined;
    const delivery = newlyStored(given, 0, clock.now());
    const way = wayOf(delivery, out);
    if (typeof way === "function" || !conversations.take(queue, delivery)) return undefined;
    const reply = new ReplyAtOnce(delivery, queue, way, out);
    reply.#deciding = decideUnstored(delivery, given.message, out);
    const decision = await (hasHooks(out) ? Promise.race([reply.#deciding, aTurn()]) : reply.#deciding);
    try {
      if (decision?.kind === "send" && !(given.mirrors && (await isOriginalDeleted(delivery, out))))
        reply.#prepare(decision.message);
    } catch (error) {
      reply.notStored();
      throw error;
    }
    return reply;
  }

  /** The message that the row gets; absent when hooks have not decided yet, or have decided something else than to send. */
  get decided(): Decided | undefined {
    return this.#prepared;
  }

  stored(seq: number): void {
    this.delivery.seq = seq;
    this.#out.conversations.sendNow(this.#queue, () => sendNext(this.#queue, this.#out, this));
  }

  /** The store did not take it, or has had one with its id. */
  notStored(): void {
    if (this.#prepared) giveBack(this.#prepared, this.#out);
    this.#queue.read();
    this.#out.conversations.sendNow(this.#queue, () => sendNext(this.#queue, this.#out));
  }

  async send(): Promise<Then> {
    if (!this.#prepared)
      return carryOut((await this.#deciding) as Decision, this.delivery, NEW, this.#adapter, this.#out);
    try {
      await this.#out.store.durable();
    } catch (error) {
      giveBack(this.#prepared, this.#out);
      throw error;
    }
    return sendPrepared(this.delivery, this.#prepared, this.#adapter, this.#out);
  }

  /** A message that cannot be encoded ends when it is stored. */
  #prepare(message: OutboundMessage): void {
    const short = shorten(this.delivery, message, this.#out);
    const prepared = prepare(this.delivery, short, [], this.#adapter, this.#out);
    if (typeof prepared !== "string") this.#prepared = prepared;
  }
}

/** Work that waits for nothing ends within one turn of the event loop. */
const aTurn = () => new Promise<undefined>((done) => setImmediate(() => done(undefined)));

/** No message of any sender is longer than `MAX_CHARACTERS`. After the hooks, because a hook may have made it long. */
function shorten(delivery: Delivery, message: OutboundMessage, { logger }: Outbound): OutboundMessage {
  const short = shortenMessage(message);
  if (short !== message)
    logger.warn(
      { delivery: delivery.id, conversation: delivery.conversation, characters: charactersOf(message) },
      `a message was shortened to ${MAX_CHARACTERS.toLocaleString("en-US")} characters; send longer texts as a file`,
    );
  return short;
}

/** Puts a conversation aside until its platform is online: no polling, only a pass when its first delivery expires. */
function park(delivery: Delivery, out: Outbound): Then {
  out.parking.park(delivery.address.platform, queueOf(delivery));
  return whenExpired(delivery, out.clock.now());
}

/** The token was changed to another bot's: this chat is not ours to write to. */
function isOtherAccount({ address: { platform, botId } }: Delivery, out: Outbound): boolean {
  const current = out.adapters.botId(platform);
  return botId !== "" && current !== undefined && current !== botId;
}
