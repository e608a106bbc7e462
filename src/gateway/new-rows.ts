/** Rows as they are when they have just been stored, so that they need not be read. */
import { formatAddress } from "../domain/chat/address.js";
import type { InboundEvent } from "../domain/chat/event.js";
import type { Delivery, NewDelivery } from "../domain/store.js";
import type { LaneRow } from "./conversation.js";

/** A new event as its row has it. */
export function newLaneRow(
  id: number,
  lane: string,
  conversation: string,
  event: InboundEvent,
  receivedAt: number,
  isStarted: boolean,
): LaneRow {
  return {
    id,
    lane,
    conversation,
    event,
    status: isStarted ? "running" : "waiting",
    attempts: isStarted ? 1 : 0,
    deferrals: 0,
    round: 1,
    dueAt: receivedAt,
    receivedAt,
    isStarted,
  };
}

/** A new delivery as its row has it. `seq` 0: not known yet. `asked`: how often hooks may have been asked about it before. */
export function newlyStored(given: NewDelivery, seq: number, at: number, asked = 0): Delivery {
  // Written out: a copy by spreading costs as much as all else here.
  const { id, address, operation, cause } = given;
  const delivery: Delivery = {
    id,
    address,
    operation,
    cause,
    seq,
    conversation: formatAddress(address),
    status: "waiting",
    attempts: 0,
    waits: 0,
    round: 1,
    asked,
    createdAt: at,
    dueAt: at,
    parts: [],
  };
  if (given.message !== undefined) delivery.message = given.message;
  if (given.expiresAt !== undefined) delivery.expiresAt = given.expiresAt;
  if (given.targetId !== undefined) delivery.targetId = given.targetId;
  if (given.interaction !== undefined) delivery.interaction = given.interaction;
  if (given.visibleTo !== undefined) delivery.visibleTo = given.visibleTo;
  if (given.isCourtesy !== undefined) delivery.isCourtesy = given.isCourtesy;
  if (given.answers !== undefined) delivery.answers = given.answers;
  if (given.skipsHooks !== undefined) delivery.skipsHooks = given.skipsHooks;
  if (given.openly !== undefined) delivery.openly = given.openly;
  if (given.mirrors !== undefined) delivery.mirrors = given.mirrors;
  if (given.sight !== undefined) delivery.sight = given.sight;
  if (given.urgency !== undefined) delivery.urgency = given.urgency;
  if (given.lostFiles !== undefined) delivery.lostFiles = given.lostFiles;
  if (given.isApart !== undefined) delivery.isApart = given.isApart;
  return delivery;
}
