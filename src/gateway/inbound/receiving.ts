/** The dependencies and helpers that the steps of the inbound flow share. */
import type { Address } from "../../domain/chat/address.js";
import { addressOf, type InboundEvent } from "../../domain/chat/event.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import { answerId, type Cause, numberedDispatch } from "../../domain/journal.js";
import type { Corrected, NewDelivery } from "../../domain/store.js";
import { immutable } from "../../fast/isolate.js";
import type { DispatchOptions } from "../../hooks/options.js";
import type { PerMinute } from "../../lib/concurrency/per-minute.js";
import type { Pending } from "../../pending/pending.js";
import type { ActionTokens } from "../action-tokens.js";
import { takesCopies } from "../complete-address.js";
import type { RepliedTo } from "../contract.js";
import type { Conversation, LaneRow } from "../conversation.js";
import type { Conversations } from "../conversations.js";
import type { Deps } from "../deps.js";
import type { ReplyAtOnce } from "../outbound.js";
import type { Verdict } from "../people/access.js";
import type { Identify } from "../people/identity.js";
import type { Ignored } from "../people/ignored.js";
import type { Routes } from "../routes.js";
import type { CommandTable } from "./parse-command.js";

export type KeepFile = (bytes: Uint8Array) => Promise<string>;

export interface Inbound extends Deps {
  identify: Identify;
  /** Why a claim at inbound_claim cannot be carried out: its destination is not there. */
  refuseClaim: DispatchOptions["refuseClaim"];
  commands: CommandTable;
  routes: Routes;
  tokens: ActionTokens;
  /** Keeps a copy of a file and gives its address; absent: files without an address are only named. */
  keepFile: KeepFile | undefined;
  repliedTo: RepliedTo | undefined;
  ignored: Ignored;
  /** Counts the commands of each person. */
  perMinute: PerMinute;
  /** This part of a held delivery did arrive, as this message of its platform: it is taken as sent. */
  confirmArrival(deliveryId: string, partIndex: number, messageId: string): Promise<void>;
  /** The original of this copy was corrected: its parts that were certainly not posted get the new text. False: an edit has to follow. */
  correct(copyId: string, corrected: Corrected): Promise<boolean>;
  /** The original of this copy was deleted: its parts that were certainly not posted are not sent. True when nothing is left to delete. */
  retract(copyId: string): Promise<boolean>;
  pending: Pick<Pending, "added">;
  /** Something changed in this queue of the outbox: it is read from the store. */
  wakeOutbox(queue: string): void;
  conversations: Conversations;
  /** Has hooks decide on a reply that is not stored yet. `near`: the conversation of the message that it answers. */
  replyAtOnce(delivery: NewDelivery, near: Conversation): Promise<ReplyAtOnce | undefined>;
}

export function messageAddress({ platform, botId, chatId, threadId }: InboundMessage): Address {
  return threadId === undefined ? { platform, botId, chatId } : { platform, botId, chatId, threadId };
}

export const isInThread = ({ threadId, parentChatId }: InboundMessage): boolean =>
  threadId !== undefined || parentChatId !== undefined;

/** True when the message is where the default route forwards to, or in a thread there. */
export function isWhereCopiesGo(message: InboundMessage, inbound: Inbound): boolean {
  const { platform, botId, chatId, parentChatId = chatId } = message;
  const places = [messageAddress(message), { platform, botId, chatId }, { platform, botId, chatId: parentChatId }];
  return places.some((place) => takesCopies(place, inbound));
}

/**
 * The message that it replies to, then the message that its thread hangs under. The latter is in the chat or, where threads are chats, in
 * the parent.
 */
export function answeredBy(message: InboundMessage): [Address, string][] {
  const { platform, botId, chatId, threadId, parentChatId, replyToId } = message;
  const places: [Address, string][] = [];
  if (replyToId !== undefined) places.push([messageAddress(message), replyToId]);
  if (threadId !== undefined) places.push([{ platform, botId, chatId }, threadId]);
  if (parentChatId !== undefined) places.push([{ platform, botId, chatId: parentChatId }, chatId]);
  return places;
}

/** `m<inbox id>`: the same for every attempt, so that its results are known again after a crash. */
export const causeId = (row: Pick<LaneRow, "id">) => `m${row.id}`;

/** The `attempt` that a handler gets, from 1. Failures, crashes and stops count, put-offs do not. The limit of tries is for `triesCounted`. */
export const startsSeen = (row: LaneRow) => Math.max(1, row.attempts - row.deferrals);

export function causeOf(row: LaneRow, kind: Cause["kind"]): Cause {
  const by = givenBy(row);
  // A message is caused by its writer's run; a reply to it is an answer, as deep.
  if (by !== undefined && kind === "message") return by;
  return immutable({ kind, id: causeId(row), depth: by?.depth ?? 0 });
}

/** The run of a hook whose program wrote, deleted, reacted or pressed. */
export function givenBy({ event }: LaneRow): Cause | undefined {
  if (event.kind === "moved") return undefined;
  const by = "message" in event ? event.message.writtenBy : event.writtenBy;
  return by && { kind: "hook", id: by.runId, depth: by.depth };
}

/** Unique: handling that was put off or failed is done again under the next number, one that was cut off under the same. */
export function dispatchIdOf(row: LaneRow, point: string): string {
  return numberedDispatch(causeId(row), point, row.round);
}

/** Options of a dispatch that this event leads to, with a payload that is made for it from the event. */
export function fireOptions(row: LaneRow, point: string, messageId: string, { access }: Verdict): DispatchOptions {
  return {
    dispatchId: dispatchIdOf(row, point),
    attempt: startsSeen(row),
    cause: causeOf(row, "message"),
    conversation: row.conversation,
    messageId,
    access,
    owned: true,
  };
}

/** A delivery that answers this event. `mark` distinguishes the deliveries when one event leads to several. */
export function newDelivery(
  row: LaneRow,
  mark: string,
  facts: Omit<NewDelivery, "id" | "expiresAt">,
  { clock, config }: Inbound,
): NewDelivery {
  return { id: answerId(causeId(row), mark), expiresAt: clock.now() + config.ttl, ...facts };
}

/** The id by which an answer refers to this message. None when its chat moved since: the id is another message's there. */
export function referenceTo({ event }: LaneRow, { chatId, messageId }: InboundMessage): string | undefined {
  return addressOf(event).chatId === chatId ? messageId : undefined;
}

/** The answer to a command or a press in a group does not wait behind copies there: until then the person who gave it sees nothing. */
export const urgencyOfAnswer = ({ isDm }: InboundMessage) => (isDm ? undefined : ("urgent" as const));

/** The message in the chat where it was written: there, the id of the message that it replies to counts. */
export function asWritten({ event }: LaneRow, message: InboundMessage): InboundMessage {
  const isMoved = "message" in event && event.message.chatId !== message.chatId;
  return isMoved ? event.message : message;
}

/** The event with the chat id that holds now. The message that it replied to is in the chat before, so it refers to nothing here. */
export function afterMove(event: InboundEvent, { moves }: Deps): InboundEvent {
  if ("address" in event) {
    const address = moves.current(event.address);
    return address === event.address ? event : { ...event, address };
  }
  const message = moves.current(event.message);
  if (message === event.message) return event;
  const { replyToId: _, replyToUserId: __, replyToOwn: ___, ...moved } = message;
  return { ...event, message: moved } as InboundEvent;
}
