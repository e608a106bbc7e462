/** Sends the parts of a frozen delivery, one request each, in order. Every part is marked on disk before its request is written. */
import type { Adapter, SendOperation, SendResult } from "../../../domain/chat/adapter.js";
import { mayBePosted, sentAfter } from "../../../domain/deliveries/given-up.js";
import { queueOf } from "../../../domain/deliveries/outbox-queue.js";
import type { Delivery, DeliveryPart, OnlyPart } from "../../../domain/store.js";
import { orExpiry, whenExpired } from "../expiry.js";
import { endOfDeletion } from "../find-target.js";
import { finish } from "../finish.js";
import { showEnd } from "../notices/answer-notices.js";
import { notifyOfLostFiles } from "../notices/notify-lost-files.js";
import { firesSent, reportSent } from "../notices/report-sent.js";
import { isOriginalDeleted } from "../retract.js";
import type { Outbound, Then } from "../sending.js";
import { wasChanged } from "../withdraw.js";
import { hold, isFirstAnswer, keepsItsWay, leavesDoubt, mayRepeat } from "./doubt.js";
import { isOfHidden, whereTo } from "./plan-parts.js";
import { type Ticket, urgencyOf } from "./rate-limit.js";
import { takeResult } from "./take-result.js";
import { unquoted } from "./unquoted.js";
import { isLastAttempt } from "./wait-for-file.js";

/** An interaction that is about to close is treated as closed. */
const CLOSING_MS = 2_000;

const CUT_OFF = "it was cut off while it was being sent";
const TOO_LATE = "it was sent and no answer came, and it was too late to repeat the request";

/**
 * `ticket`: the first part was marked just now and may go at once; `isInGate`: it has entered the gate. A part that is found marked without
 * a ticket was cut off by a crash.
 */
export async function sendParts(
  delivery: Delivery,
  adapter: Adapter,
  out: Outbound,
  ticket?: Ticket,
  isInGate = false,
): Promise<Then> {
  const ended = await new PartSender(delivery, adapter, out, ticket, isInGate).sendAll();
  if (ended) return ended.end;
  const crowded = reportSent(delivery, out);
  if (crowded) await crowded;
  return "next";
}

/** The sending ended before all parts were sent. */
interface Ended {
  end: Then;
}

class PartSender {
  readonly #delivery: Delivery;
  readonly #adapter: Adapter;
  readonly #out: Outbound;
  readonly #queue: string;
  /** The ticket of the next part, when that part is marked and may go at once. */
  #ticket: Ticket | undefined;
  #isInGate: boolean;

  constructor(delivery: Delivery, adapter: Adapter, out: Outbound, ticket: Ticket | undefined, isInGate: boolean) {
    this.#delivery = delivery;
    this.#adapter = adapter;
    this.#out = out;
    this.#queue = queueOf(delivery);
    this.#ticket = ticket;
    this.#isInGate = isInGate;
  }

  async sendAll(): Promise<Ended | undefined> {
    const { parts } = this.#delivery;
    try {
      for (let at = 0; at < parts.length; at++) {
        const part = parts[at] as DeliveryPart;
        if (part.status === "sent") continue;
        const posted = await this.#post(part);
        if (typeof posted !== "string") return posted;
        const ended = await this.#storeSent(part, at, posted);
        if (ended) return ended;
      }
    } finally {
      if (this.#isInGate) this.#out.gate.leave();
    }
    return undefined;
  }

  /** Resolves with the message id of the part. */
  async #post(part: DeliveryPart): Promise<string | Ended> {
    const delivery = this.#delivery;
    const out = this.#out;
    const messageId = !this.#ticket && part.status === "sending" ? out.unsaved.get(part.nonce) : undefined;
    if (messageId !== undefined) return messageId;
    if (isOfHidden(part)) {
      const end = await endOfDeletion(delivery, out);
      return end ? { end: await finish(delivery, end.status, end.reason, out) } : "";
    }
    const ticket = this.#ticket ?? (await this.#markSending(part));
    return "end" in ticket ? ticket : this.#request(part, ticket);
  }

  /** Marks the part on disk when it may go now. */
  async #markSending(part: DeliveryPart): Promise<Ticket | Ended> {
    const delivery = this.#delivery;
    const out = this.#out;
    if (mayBePosted(part) && !mayRepeat(delivery, part, this.#adapter, out))
      return { end: await hold(delivery, part, part.status === "sending" ? CUT_OFF : TOO_LATE, out) };
    if (leavesDoubt(delivery, part, this.#adapter, out)) {
      this.#isInGate = out.gate.enter(delivery, this.#queue);
      if (!this.#isInGate) return { end: whenExpired(delivery, out.clock.now()) };
    }
    const nowMs = out.clock.monotonic();
    const ticket = this.#takePlace(part, nowMs);
    if (ticket.at > nowMs) return { end: orExpiry(delivery, out.clock.now() + ticket.at - nowMs) };
    const sentAt = out.clock.now();
    await out.store.outbox.partSending(delivery.id, part.index, sentAt);
    begin(part, sentAt - delivery.createdAt);
    return ticket;
  }

  #takePlace({ operation }: DeliveryPart, nowMs: number): Ticket {
    const delivery = this.#delivery;
    const isDelete = operation === "delete";
    return this.#out.limiter.take(this.#adapter, delivery.address, this.#queue, nowMs, urgencyOf(delivery), isDelete);
  }

  async #request(part: DeliveryPart, ticket: Ticket): Promise<string | Ended> {
    const delivery = this.#delivery;
    const adapter = this.#adapter;
    const out = this.#out;
    const startedAt = out.clock.now();
    if (isClosing(delivery, startedAt)) return { end: await takeResult(CLOSED, delivery, part, adapter, out, 0) };
    const startedMs = out.clock.monotonic();
    out.limiter.writing(ticket, startedMs);
    const result = await out.requests.send(adapter, operationOf(delivery, part, out));
    noteResult(delivery, result, startedMs, out);
    if (result.kind === "sent") {
      part.lostFiles = result.lostFiles;
      if (part.operation === "create") out.outages.answered(delivery);
      return result.messageId;
    }
    if (part.operation === "delete" && isGone(result)) return part.messageId ?? ""; // as was wanted
    if (await wasChanged(delivery, out)) return { end: "again" };
    const tookMs = out.clock.monotonic() - startedMs;
    return { end: await takeResult(unquoted(result, delivery, part), delivery, part, adapter, out, tookMs) };
  }

  /** Stores that the part is sent, and marks the next one with it, unless that one waits. */
  async #storeSent(part: DeliveryPart, at: number, messageId: string): Promise<Ended | undefined> {
    const delivery = this.#delivery;
    const out = this.#out;
    const { gate } = out;
    const next = delivery.parts.find((other, i) => i > at && other.status !== "sent");
    const isTakenBack = next !== undefined && (await isOriginalDeleted(delivery, out));
    const now = out.clock.now();
    const nowMs = out.clock.monotonic();
    const isGated = next !== undefined && leavesDoubt(delivery, next, this.#adapter, out);
    // The delivery's place in the gate goes on to the next part, unless a suspect waits.
    if (isGated && !this.#isInGate) this.#isInGate = gate.enter(delivery, this.#queue);
    const isHeldBack =
      isTakenBack ||
      (next !== undefined && isOfHidden(next)) ||
      (isGated && (!this.#isInGate || gate.isClosedTo(delivery)));
    this.#ticket = next && !isHeldBack ? this.#takePlace(next, nowMs) : undefined;
    const nextWaits = isHeldBack || (this.#ticket !== undefined && this.#ticket.at > nowMs);
    let goesOn: boolean;
    try {
      const hasHooks = firesSent(delivery) && out.registry.isHeard("message_sent");
      const options = { nextWaits, hasHooks, only: onlyPart(delivery), lostFiles: part.lostFiles };
      if (!next && delivery.mirrors) await notifyOfLostFiles(delivery, out);
      if (!next) await showEnd(delivery, "sent", "", out);
      goesOn = await out.store.outbox.partSent(delivery.id, part.index, messageId, now, options);
    } catch (error) {
      // The part is posted, even if the store has no record of that. It is remembered, so that the next run stores it instead of sending
      // it again.
      out.unsaved.set(part.nonce, messageId);
      throw error;
    }
    if (out.unsaved.size > 0) out.unsaved.delete(part.nonce);
    // An operator ended it, or its author deleted it, while this part was on its way.
    if (!goesOn || isTakenBack) return { end: "again" };
    part.status = "sent";
    part.messageId = messageId;
    // The next part was marked with this one, unless it waits.
    if (nextWaits) this.#ticket = undefined;
    else if (next) {
      await out.store.durable();
      begin(next, now - delivery.createdAt);
    }
    if (this.#isInGate && (nextWaits || !next)) {
      this.#isInGate = false;
      gate.leave();
    }
    return undefined;
  }
}

/** The message is not there, or all of its chat is not. */
const isGone = (result: SendResult): boolean =>
  result.kind === "gone" || (result.kind === "permanent" && result.isChatGone === true);

/** Changes the part in memory as the store marks it. */
function begin(part: DeliveryPart, afterMs: number): void {
  Object.assign(part, sentAfter(part, afterMs));
  // A crash cut it off.
  if (part.status === "sending") part.mayHaveArrived = true;
  part.status = "sending";
  part.attempts++;
}

/** Undefined when more follows from its end than that it is sent: the row is read then. */
function onlyPart({ seq, address, parts, mirrors, sight }: Delivery): OnlyPart | undefined {
  const [part] = parts;
  return part && parts.length === 1 && !mirrors && !sight ? { seq, address, part } : undefined;
}

const CLOSED = { kind: "interaction-closed", error: "the time to answer it has run out" } as const;

function isClosing({ interaction }: Delivery, now: number): boolean {
  return interaction !== undefined && interaction.expiresAt - CLOSING_MS <= now;
}

function noteResult({ address }: Delivery, result: SendResult, startedMs: number, out: Outbound): void {
  if (result.kind === "retry" && result.isUntried) return;
  out.observe.requestAnswered?.(address.platform, result.kind, out.clock.monotonic() - startedMs);
}

function operationOf(delivery: Delivery, part: DeliveryPart, out: Outbound): SendOperation {
  const operation = bareOperationOf(delivery, part, out);
  const [{ messageId: firstMessageId } = {}] = delivery.parts;
  return firstMessageId === undefined ? operation : { ...operation, firstMessageId };
}

function bareOperationOf(delivery: Delivery, part: DeliveryPart, out: Outbound): SendOperation {
  const { interaction } = delivery;
  const address = whereTo(delivery.address, delivery.frozen);
  const { messageId = "" } = part;
  if (part.operation === "delete") return { kind: "delete", address, messageId, interaction };
  const encoded = part.part ?? { text: "", body: {} };
  const forFiles = encoded.hasFile && { isLastAttempt: isLastAttempt(delivery, out) };
  if (part.operation === "edit") return { kind: "edit", address, messageId, part: encoded, ...forFiles, interaction };
  return {
    kind: "create",
    address,
    part: encoded,
    ...forFiles,
    nonce: part.nonce,
    interaction: interaction && { ...interaction, first: isFirstAnswer(delivery, part) },
    visibleTo: delivery.visibleTo,
    mayHaveArrived: keepsItsWay(part, out),
  };
}
