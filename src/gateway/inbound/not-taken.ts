/**
 * A message, or a change of one, that is not taken: its sender has a whole share of `gateway.max_waiting` unfinished, and further ones
 * would keep everyone else out. It is stored as settled with the reason, so that it is explained and does not wait, and its sender is
 * notified once.
 */
import type { Accepted } from "../../domain/chat/adapter.js";
import { addressOf, conversationOf, type InboundEvent } from "../../domain/chat/event.js";
import { queueOf } from "../../domain/deliveries/outbox-queue.js";
import type { NewDelivery } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import { newLaneRow } from "../new-rows.js";
import { type SenderLoad, shareOf } from "../pressure.js";
import { note, orOpenly } from "./answer-command.js";
import { afterMove, type Inbound, messageAddress, referenceTo } from "./receiving.js";
import { senderOf } from "./sender.js";

export const NOT_TAKEN = "not_taken";

/**
 * The holder of the share that an event is counted in. Where a platform does not report who deleted, the share of the chat; a move of a
 * chat has none.
 */
export function shareHolder(event: InboundEvent): string | undefined {
  if ("message" in event) return senderKey(event.message.platform, event.message.userId);
  if (event.kind === "moved") return undefined;
  const { platform } = event.address;
  return event.userId === undefined ? conversationOf(event) : senderKey(platform, event.userId);
}

export const senderKey = (platform: string, userId: string) => `${platform}:${userId}`;

export async function notTaken(event: InboundEvent, load: SenderLoad, inbound: Inbound): Promise<Accepted["kind"]> {
  const { store, clock, config, observe } = inbound;
  const receivedAt = clock.now();
  const lane = conversationOf(event);
  const reason = `its sender had ${load.unfinished} messages waiting, and one sender can have ${shareOf(config.max_waiting)} (a share of gateway.max_waiting); no more are taken until half of them are handled`;
  const isNotifying = !load.isNotified && isListenedTo(event, inbound);
  if (isNotifying) load.isNotified = true;
  let deliveries: NewDelivery[] = [];
  try {
    const { duplicate } = await store.inbox.accept(event, lane, receivedAt, false, (id) => {
      const row = newLaneRow(id, lane, lane, event, receivedAt, false);
      deliveries = isNotifying ? noteFor(row, load, inbound) : [];
      return { outcome: NOT_TAKEN, reason, deliveries };
    });
    if (duplicate) {
      if (isNotifying) load.isNotified = false;
      return "duplicate";
    }
  } catch (error) {
    if (isNotifying) load.isNotified = false;
    throw error;
  }
  for (const delivery of deliveries) inbound.wakeOutbox(queueOf(delivery));
  observe.eventAccepted?.(event);
  observe.eventSettled?.(addressOf(event).platform, NOT_TAKEN, 0);
  return "accepted";
}

/** The sender expects an answer there. */
function isListenedTo(event: InboundEvent, inbound: Inbound): boolean {
  if (event.kind !== "message") return false;
  const { verdict } = senderOf(event.message, inbound);
  return verdict.access === "allowed";
}

function noteFor(row: Parameters<typeof note>[0], { unfinished }: SenderLoad, inbound: Inbound): NewDelivery[] {
  const event = afterMove(row.event, inbound);
  if (event.kind !== "message") return [];
  const { message } = event;
  const text = `You have ${unfinished} messages waiting for an answer, so this one was not taken. Messages that you send before half of them are handled are not taken either: send them again later.`;
  const delivery = note(row, message, undefined, text, inbound);
  if (!message.isDm) return [orOpenly(row, delivery, message, messageAddress(message), inbound, text)];
  return [{ ...delivery, message: { text, replyToId: referenceTo(row, message) } }];
}

/** The answer on a platform that can refuse at once (the web chat). */
export function waitingTooMany({ unfinished, reserved }: SenderLoad): HookgateError {
  return new HookgateError({
    code: "TOO_MANY_WAITING",
    message: `you have ${unfinished + reserved} messages waiting for an answer, and no more are taken until half of them are handled`,
    hint: "Send it again later. Commands are answered meanwhile.",
    retryable: true,
    retryAfterMs: RETRY_MS,
  });
}

/** Like `waitingTooMany`, while no messages of anyone are taken. */
export function tooMuchWaiting(): HookgateError {
  return new HookgateError({
    code: "GATEWAY_FULL",
    message: "too many messages wait to be handled, and no more are taken for now",
    hint: "Send it again later. Commands are answered meanwhile: /status shows an operator what most of the messages wait for.",
    retryable: true,
    retryAfterMs: RETRY_MS,
  });
}

const RETRY_MS = 30_000;
