/**
 * The contracts of the product's data on disk. Every promise of a write resolves when it is durable; concurrent writes share a transaction
 * (group commit). Some are documented to resolve at their commit: then a process that is killed loses nothing of it, and messages and
 * reports to the outside because of it wait for `Store.durable`. All of them reject with a `HookgateError`: STORE_LOCKED, STORE_READ_ONLY,
 * STORE_FULL, STORE_CORRUPT or STORE_FAILED, with a hint for the operator. `check` may also reject with STORE_GONE or STORE_FOREIGN.
 */

import type { HookgateError } from "../lib/errors.js";
import type { LostFile } from "../lib/files/lost-file.js";
import type { AlertStore } from "./alerts/alert.js";
import type { ConversationSight, SlaStore } from "./alerts/sla.js";
import type { AutomationStore } from "./automation.js";
import type { CursorStore, EncodedPart } from "./chat/adapter.js";
import type { Address } from "./chat/address.js";
import type { InboundEvent, InteractionRef } from "./chat/event.js";
import type { Operator, Role } from "./chat/identity.js";
import type { ButtonAction, OutboundMessage } from "./chat/message.js";
import type { InboxLetterRef, LetterFilter, LetterRef } from "./deliveries/letters.js";
import type { Cause, Journal } from "./journal.js";
import type { MissionStores } from "./orchestrator/mission-stores.js";
import type { TaskStore } from "./orchestrator/task-store.js";
import type { NewPending, PendingStore } from "./pending.js";

/* ── inbox ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** `deferred` rows wait for `dueAt` (a `deferMs` or a retry) at the head of their lane. */
export type InboxStatus = "waiting" | "running" | "deferred" | "done" | "dead";

export interface InboxRow {
  id: number;
  /** The row is damaged: only these fields are left of it, and it can only be deleted. */
  isUnreadable?: boolean;
  /** The queue it waits in, in order of id: the formatted address, or that + `#commands` (+ `:<event id>` for one that may take long). */
  lane: string;
  event: InboundEvent;
  status: InboxStatus;
  /** How often handling was started. Durable before each start, so that a crash counts. */
  attempts: number;
  /** How often a hook put it off. */
  deferrals: number;
  /** Which dispatch of its hooks comes next: 1, and one more whenever it was put off, failed or was revived. Part of the dispatch ids. */
  round: number;
  dueAt: number;
  receivedAt: number;
  settledAt?: number;
  /** The outcome of the row: `claimed`, `command`, `denied`, `forwarded`, `unrouted`, `deleted` (by its author, while it was dead), … */
  outcome?: string;
  claimedBy?: string;
  /** The reason of the outcome: for `denied`, why the gateway does not listen to the sender. */
  reason?: string;
  error?: string;
  /** Ids of the deliveries that its handling led to, kept when they are deleted; absent while it is not done. */
  deliveryIds?: readonly string[];
}

export interface Settlement {
  outcome: string;
  claimedBy?: string;
  reason?: string;
  deliveries: readonly NewDelivery[];
  /** The decision on the only delivery: the delivery is stored as decided. */
  decided?: Decided;
  /** How often hooks were asked about the only delivery, or may have been before a crash. */
  asked?: number;
  /** The facts of the event for SLA clocks of conversations. */
  sights?: readonly ConversationSight[];
  /** Work for the event that is still to be done. */
  pending?: readonly NewPending[] | undefined;
}

export interface InboxStore {
  /**
   * Stores an event once. `started`: it is handled at once, so it is stored as running with attempts 1 (saves a write).
   * A second event with the same platform, bot, chat and event id gives `duplicate: true` and the first row's id. Resolves at its
   * commit. `settled`: it is not handled, and settled so in the same commit.
   */
  accept(
    event: InboundEvent,
    lane: string,
    receivedAt: number,
    started: boolean,
    settled?: (id: number) => Pick<Settlement, "outcome" | "reason" | "deliveries">,
  ): Promise<{ id: number; duplicate: boolean }>;
  /** Marks a row running and counts the attempt. Resolves with the new count, at its commit. */
  start(id: number): Promise<number>;
  /**
   * One transaction: the row is done, its deliveries are in the outbox and its sights are kept. Resolves at its commit, with the seq of
   * each delivery (0: its id existed); undefined when the row was settled before (nothing is written).
   */
  settle(id: number, settlement: Settlement, at: number): Promise<readonly number[] | undefined>;
  /** Completes the pending part of a settled row: its reason and deliveries are these. Nothing is written when the row is gone. */
  complete(id: number, settlement: Pick<Settlement, "reason" | "deliveries">, at: number): Promise<void>;
  /** Puts a row off until `dueAt`; `error` when handling failed, none when a hook asked for it (counts a deferral). */
  defer(id: number, dueAt: number, error?: string): Promise<void>;
  /** One transaction: the row is a dead letter, and `note` is in the outbox. */
  dead(id: number, error: string, at: number, note?: NewDelivery): Promise<void>;
  /** The clock was set: rows that were put off are due that much later (earlier when negative). */
  shift(stepMs: number): Promise<void>;
  /** A dead row waits again, with attempts 0. False when it is not dead. */
  revive(id: number, at: number): Promise<boolean>;
  /** The author of a dead message changed it: `event` is handled when it is tried again. False when it is not dead. */
  correct(id: number, event: InboundEvent): Promise<boolean>;
  /** The author of a dead message deleted it: it is done, with the outcome `deleted`. False when it is not dead. */
  withdraw(id: number, at: number): Promise<boolean>;
  /**
   * Deletes dead rows; their events stay known, so that they are not handled when they come again. Resolves with the ids of those that it
   * deleted.
   */
  discard(ids: readonly number[]): Promise<number[]>;
  /** Unfinished rows (waiting, running, deferred), by id, which a start resumes. `afterId` pages on. */
  unfinished(afterId: number, limit: number): Promise<InboxRow[]>;
  /** The unfinished rows of one lane, by id. */
  lane(lane: string, afterId: number, limit: number): Promise<InboxRow[]>;
  get(id: number): Promise<InboxRow | undefined>;
  /** The highest id that a row ever had, deleted ones included; 0 before the first. */
  lastId(): Promise<number>;
  /** The row of a message, by its platform id. */
  find(at: Address, eventId: string): Promise<InboxRow | undefined>;
  /** The id of the row of a message that was deleted, by its platform id, while its event is known (`dedup_for`). */
  formerId(at: Address, eventId: string): Promise<number | undefined>;
  /** The edits, reactions and deletions of a message, by its platform id, oldest first. */
  changesOf(at: Address, messageId: string): Promise<InboxRow[]>;
  /** The rows of this platform id in all chats: an id is unique in its chat only. */
  findAll(eventId: string): Promise<InboxRow[]>;
  /** Newest first. `before`: older than that row. `lane`: that lane alone, of every status. */
  list(filter: { status?: InboxStatus; lane?: string; before?: number; limit: number }): Promise<InboxRow[]>;
  /** All dead rows that the filter fits, oldest first. */
  letters(filter: LetterFilter): Promise<InboxLetterRef[]>;
  counts(): Promise<Record<InboxStatus, number>>;
  /** The lane with most unfinished rows. */
  longestLane(): Promise<{ lane: string; rows: number } | undefined>;
}

/* ── outbox ────────────────────────────────────────────────────────────────────────────────────────────────────── */

/**
 * waiting: hooks have not run · sending: decision frozen, parts under way or waiting for `dueAt` · held: an operator must
 * decide (ambiguous, or a fail-closed hook failed) · sent · suppressed (before_dispatch) · cancelled (message_sending, withdrawn,
 * a courtesy that was given up, or a deletion out of reach) · superseded (a newer edit of the same target) · dead (dead letter; TTL
 * included).
 */
export const DELIVERY_STATUSES = [
  "waiting",
  "sending",
  "held",
  "sent",
  "suppressed",
  "cancelled",
  "superseded",
  "dead",
] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/**
 * `urgent`: takes the next free place of its chat · `later`: leaves free places to new messages · `last`: also to changes that may
 * come later.
 */
export type DeliveryUrgency = "urgent" | "later" | "last";

export interface NewDelivery {
  /** `newId("d")`; made by the caller that enqueues, so that it is known before the write. Enqueuing an id that exists is a no-op. */
  id: string;
  address: Address;
  operation: "send" | "edit" | "delete";
  /** The delivery whose platform messages an edit or delete addresses. */
  targetId?: string;
  /** Absent on delete. */
  message?: OutboundMessage;
  cause: Cause;
  /** Dead-lettered when not sent by then. */
  expiresAt?: number;
  interaction?: InteractionRef | undefined;
  /** Shown to this person only, where the platform can. */
  visibleTo?: string;
  /** A message that no one misses, such as a refusal: when it cannot be sent it is cancelled, and is not left to operators. */
  isCourtesy?: boolean;
  /**
   * The person to notify when hooks withhold it: the one whose command or press it answers or, for a reply, a forward and a change of one,
   * its `author` (a user id). `role`: of this person, when the message came. `askedAt`: it passes the author's words on from there to
   * another person, so the author is notified of every end but its arrival. `whenGivenUp`: notified only when it is given up, and not when
   * hooks withhold it.
   */
  answers?:
    | { role?: Role | undefined; author?: string; askedAt?: Address; whenGivenUp?: boolean | undefined }
    | undefined;
  /** A notice of the gateway itself, that an answer was withheld or to an admin about a hook: no hook decides about it. */
  skipsHooks?: boolean;
  /**
   * The delivery is sent again, there and in other words, when this person cannot be reached privately. `isForEach`: as a reply to each
   * message that it concerns; absent: one line for all of ten minutes.
   */
  openly?: { address: Address; message: OutboundMessage; isForEach?: boolean | undefined } | undefined;
  /** A forward or a change of one: the message that it mirrors; the pair is stored as a link when it is sent. */
  mirrors?: { address: Address; messageId: string };
  /** An answer through a bridge, or a message of a hook: its meaning for SLA clocks once it is sent. */
  sight?: ConversationSight | undefined;
  /**
   * The delivery waits in the queue of its urgency, in order there and in no order with other queues; absent: in the queue of its
   * conversation.
   */
  urgency?: DeliveryUrgency | undefined;
  /** The delivery waits alone: the platform keeps answering with an error, or not at all, and others do not wait for it. */
  isApart?: boolean;
  /** The plugin that sent it. */
  plugin?: string | undefined;
  /** For a copy: files of its message that could not be had, so that its text names them. */
  lostFiles?: readonly LostFile[] | undefined;
}

/** Deliveries of one platform that failed, and are tried again. */
export interface FailingDeliveries {
  platform: string;
  deliveries: number;
  /** When the oldest was created, and why its last attempt failed. */
  since: number;
  reason: string;
}

export interface DeliveryPart {
  index: number;
  operation: "create" | "edit" | "delete";
  /** The platform's id of the message to edit or delete, or of the one created. */
  messageId?: string;
  /** The chat that `messageId` counts in, when its delivery went on to another chat. Absent: that of the delivery. */
  chatId?: string;
  part?: EncodedPart;
  nonce: string;
  status: "waiting" | "sending" | "sent";
  attempts: number;
  /** How long after its delivery was created the request was written that may have been posted; absent: at once. */
  sentAfterMs?: number | undefined;
  /** Files that its platform did not get: a line of text replaces each of them. */
  lostFiles?: readonly LostFile[] | undefined;
  /** A request for it got no answer, and is repeated under the same nonce: it may have been posted, or have changed the message. */
  mayHaveArrived?: true;
}

/**
 * The decision on a delivery: the message after the hooks (none of a delete), its parts, the action tokens of its buttons. A first part
 * with status `sending` (and attempts 1) is about to be written to the wire; one that is `waiting` waits for the rate limit or the send
 * gate.
 */
export interface Decided {
  message: OutboundMessage | undefined;
  parts: readonly DeliveryPart[];
  tokens: readonly ActionToken[];
}

/** The only part of a delivery that mirrors nothing and has no sight, as its sender knows it: its row need not be read. */
export interface OnlyPart extends Pick<Delivery, "seq" | "address"> {
  part: DeliveryPart;
}

/** How far a delivery had come when an operator ended it. */
export interface CancelledRest {
  sent: number;
  /** 0 when its parts were not decided yet. */
  parts: number;
  /** A part was on its way, or was sent and got no answer: it may have arrived, or may still arrive. */
  isUnclear: boolean;
}

export interface Delivery extends NewDelivery {
  /** Its row is damaged: only these fields are left of it, and it can only be deleted. */
  isUnreadable?: boolean;
  /** Order in its conversation. */
  seq: number;
  /** Formatted address: deliveries of one conversation go in order of seq, held ones stepped over. */
  conversation: string;
  status: DeliveryStatus;
  attempts: number;
  /** The number of attempts that were answered with a wait, or found no platform: they do not end the delivery. */
  waits: number;
  /** Which dispatch of its hooks comes next: 1, and one more for each release. Part of the dispatch ids. */
  round: number;
  /** How often hooks were asked in this round whether it may go. */
  asked: number;
  createdAt: number;
  dueAt: number;
  settledAt?: number;
  /** Why it is held, suppressed, cancelled, dead or waiting for a retry; of a sent one, why its try before failed. */
  reason?: string;
  /** Part of the decision that was frozen: the message after the hooks. */
  frozen?: OutboundMessage;
  parts: DeliveryPart[];
}

/** The new message of a delivery, and the files that it lacks. */
export interface Corrected extends Pick<NewDelivery, "lostFiles"> {
  message: OutboundMessage;
}

/** The delivery is neither settled nor with an operator. */
export const isUnderWay = ({ status }: Pick<Delivery, "status">): boolean =>
  status === "waiting" || status === "sending";

export interface OutboxStore {
  /** All deliveries of these statuses (none that is open or sent) that the filter fits, oldest first. */
  letters(statuses: readonly DeliveryStatus[], filter: LetterFilter): Promise<LetterRef[]>;
  /** Resolves with the seq of each; 0 for one whose id existed. */
  enqueue(deliveries: readonly NewDelivery[], at: number): Promise<readonly number[]>;
  /** The first delivery of a queue (see `deliveries/outbox-queue.ts`) that is waiting or sending, also when its dueAt has not come. */
  next(queue: string): Promise<Delivery | undefined>;
  /** Queues with work, each with the dueAt of its first delivery; a start resumes them. */
  pending(): Promise<{ queue: string; dueAt: number }[]>;
  /** Stores the decision (of this round), with status sending. */
  freeze(
    id: string,
    message: Decided["message"],
    parts: Decided["parts"],
    tokens: Decided["tokens"],
    round?: number,
  ): Promise<void>;
  /**
   * Gives a new message to an open or held delivery of which no part was sent, is being sent or may have arrived; hooks decide in a new
   * round. False: there is no such delivery.
   */
  correct(id: string, corrected: Corrected): Promise<boolean>;
  /** Hooks are about to be asked whether it may go: counts that, and resolves with the count at its commit. */
  asking(id: string): Promise<number>;
  /**
   * Replaces the not yet sent parts (plain-text fallback, moved chat, gone target, closed interaction). A new address changes the
   * conversation with it, and sent parts keep the chat that their ids count in; `isApart` and `withoutInteraction` change the queue.
   * `withoutReference`: the message answers no other one any more. `openly`: the `openly` of the delivery from now on.
   */
  reencode(
    id: string,
    parts: readonly DeliveryPart[],
    change?: {
      address?: Address;
      withoutInteraction?: boolean;
      isApart?: boolean;
      withoutReference?: boolean;
      openly?: NewDelivery["openly"];
    },
  ): Promise<void>;
  /**
   * A part is about to be written to the wire (counts its attempt); durable before the request. `at`: the time; absent: as if at its
   * creation.
   */
  partSending(id: string, index: number, at?: number): Promise<void>;
  /**
   * A part is confirmed; the same transaction marks the next one sending (unless `nextWaits`: the rate limit or the send gate holds it
   * back), or, after the last, the delivery sent (and stores its link). `hasHooks`: hooks listen, so its end is noted as pending. Resolves
   * at its commit: false when the delivery was ended meanwhile, so that no further part may go.
   */
  partSent(
    id: string,
    index: number,
    messageId: string,
    at: number,
    options?: {
      nextWaits?: boolean;
      hasHooks?: boolean;
      only?: OnlyPart | undefined;
      lostFiles?: DeliveryPart["lostFiles"];
    },
  ): Promise<boolean>;
  /**
   * Later, at the head of its conversation; the attempt is counted. A part that was `sending` waits again: it was not posted, or may be
   * repeated. `isWait`: the attempt is not one of those that end the delivery.
   */
  retryAt(
    id: string,
    dueAt: number,
    reason: string,
    options?: { mayHaveArrived?: boolean; isWait?: boolean },
  ): Promise<void>;
  /** Later, as `retryAt`, but no request was made: nothing is counted, and the reason of an attempt before stays. */
  postpone(id: string, dueAt: number, reason: string): Promise<void>;
  /**
   * Ends an open or held delivery; `superseded` and `cancelled` also end a dead or superseded one. `sight`: the facts about that for SLA
   * clocks.
   */
  finish(
    id: string,
    status: "held" | "suppressed" | "cancelled" | "superseded" | "dead" | "sent",
    reason: string,
    at: number,
    hasHooks?: boolean,
    sight?: ConversationSight | undefined,
  ): Promise<void>;
  /**
   * Cancels an open delivery of which no part was sent or is being sent. False: there is no such delivery. `hasHooks`: as for `finish`.
   * `besideSent`: also one whose sent parts have known ids.
   */
  withdraw(id: string, reason: string, at: number, hasHooks: boolean, besideSent?: boolean): Promise<boolean>;
  /**
   * Cancels the rest of an open delivery; parts that were sent stay. The reason counts them, and notes for a part without an answer that it
   * may have arrived. Undefined: there is no such delivery.
   */
  cancelRest(id: string, reason: string, at: number, hasHooks: boolean): Promise<CancelledRest | undefined>;
  /**
   * An operator sends a held or dead delivery after all: with its frozen decision when it has one (parts that were `sending` wait again),
   * else through the hooks. It may be sent until `expiresAt`, for ever without one. `confirmed`: an ambiguous part did
   * arrive; all of it, when its reason starts with `MAY_HAVE_BEEN_SENT`.
   */
  release(
    id: string,
    at: number,
    options?: { expiresAt?: number; confirmed?: boolean; hasHooks?: boolean; sight?: ConversationSight | undefined },
  ): Promise<boolean>;
  /** The clock was set: open deliveries were created, fall due and expire that much later (earlier when negative). */
  shift(stepMs: number): Promise<void>;
  /** Open deliveries of a conversation, or of a platform's account (`platform:botId`), are due now. */
  dueNow(key: string, at: number): Promise<void>;
  /** When the oldest open delivery was created; undefined when none is open. */
  oldestOpen(): Promise<number | undefined>;
  /** How many deliveries of a platform are open. */
  openOf(platform: string): Promise<number>;
  /** Open deliveries that failed in several attempts, by platform. Waits that a platform asked for are none. */
  failing(): Promise<FailingDeliveries[]>;
  /** The delivery ended in this process, and hooks have not been notified of that yet. */
  isEndPending(id: string): boolean;
  /** Hooks have been notified of its end. Resolves with the id of the pending work (`DELIVERY_ENDS`) that is done with it, if any. */
  endNotified(id: string): string | undefined;
  /** Deletes settled deliveries of these statuses; resolves with how many. */
  purge(filter: { ids?: string[]; status?: DeliveryStatus }): Promise<number>;
  get(id: string): Promise<Delivery | undefined>;
  /** The delivery that posted this platform message. */
  findByMessage(at: Address, messageId: string): Promise<Delivery | undefined>;
  /** The deliveries that posted a message with this id, in all chats: an id is unique in its chat only. */
  findAllByMessage(messageId: string): Promise<Delivery[]>;
  /** Deliveries that an inbox message (`m5`) led to, oldest first: answers, copies, edits of copies. */
  answersTo(causeId: string): Promise<Delivery[]>;
  /**
   * Deliveries whose cause is one of the kinds and starts with one of these ids, oldest first: those among the newest 5,000 that were
   * created at or after `since` (ms since the epoch), 100 at most.
   */
  causedBy(ids: readonly string[], kinds: readonly Cause["kind"][], since: number): Promise<Delivery[]>;
  /** Newest first. `targetId`: the edits and deletes of that delivery. `before`: older than that delivery, of any conversation. */
  list(filter: {
    status?: DeliveryStatus;
    conversation?: string;
    targetId?: string;
    before?: string;
    limit: number;
  }): Promise<Delivery[]>;
  counts(): Promise<Record<DeliveryStatus, number>>;
}

/** The action of a button, kept so that a press works after a restart. */
export interface ActionToken {
  token: string;
  deliveryId: string;
  action: ButtonAction;
  expiresAt: number;
}

export interface ActionStore {
  get(token: string): Promise<ActionToken | undefined>;
}

/** Pairs of mirrored messages, found from either side. */
export interface LinkStore {
  /** The messages that mirror this one, or that it mirrors. */
  find(
    at: Address,
    messageId: string,
  ): Promise<{ address: Address; messageId: string; deliveryId: string; isOrigin: boolean }[]>;
}

/** Platform pauses (`retry_after`) that must survive a restart. Key: `platform:botId` or a conversation's `platform:botId:chatId`. */
export interface PauseStore {
  list(): Promise<Pause[]>;
  /** Sets or replaces the pause of its key. */
  set(pause: Pause): Promise<void>;
  remove(key: string): Promise<void>;
}

export interface Pause {
  key: string;
  /** When sending goes on (ms since the epoch). */
  until: number;
  /** The length of the pause that was asked for: a pause never lasts longer, even when the clock is set. */
  askedMs: number;
  reason: string;
  /** A hook put off a message, and later ones wait for it: sending goes on. */
  isPutOff?: true;
  /** A limit of the gateway's own settings, which ends by itself. */
  isOwnLimit?: true;
}

/* ── operators, hooks, plugins ─────────────────────────────────────────────────────────────────────────────────── */

export interface AuditEntry {
  id: number;
  at: number;
  operator: Operator;
  /** `command` for an invocation; other words for other operator actions (reveal, release, toggle). */
  action: string;
  target?: string;
  details?: unknown;
  /** `asked`: the command asked for a confirmation, and did nothing. */
  outcome: "done" | "failed" | "refused" | "asked";
}

export interface AuditStore {
  /**
   * Commands that were refused or came from a person without a role are counted in one row per person, command, outcome and hour:
   * `details.times`, `details.lastAt`.
   */
  record(entry: Omit<AuditEntry, "id">): Promise<void>;
  list(filter: { limit: number; before?: number | undefined }): Promise<AuditEntry[]>;
}

export interface HookSwitch {
  hookId: string;
  enabled: boolean;
  by: string;
  at: number;
}

export interface HookStateStore {
  /** Read whole at start. */
  list(): Promise<HookSwitch[]>;
  set(state: HookSwitch): Promise<void>;
  /** A switch that was made since stays. */
  remove(state: Pick<HookSwitch, "hookId" | "at">): Promise<void>;
}

/** Small facts by scope: those of plugins, and those of the product (`core:…`); values are JSON. */
export interface KeyValueStore {
  get(scope: string, key: string): Promise<unknown>;
  set(scope: string, key: string, value: unknown): Promise<void>;
  /** The value is on disk when it returns: for facts that the end of the process leaves no time for. */
  setNow(scope: string, key: string, value: unknown): void;
  delete(scope: string, key: string): Promise<void>;
  list(scope: string, prefix: string): Promise<{ key: string; value: unknown }[]>;
}

/* ── web chat: the platform side of the embedded adapter ───────────────────────────────────────────────────────── */

export interface WebRoom {
  id: string;
  name: string;
  /** A room of one person and the gateway. */
  isDm: boolean;
  /** The person whose DM it is, or who added the room; absent for configured rooms. */
  ownerId?: string;
}

export interface WebChatMessage {
  /** Increasing over all rooms; also the event id of live updates. */
  id: number;
  roomId: string;
  threadId?: string;
  /** Absent for messages of the gateway. */
  userId?: string;
  userName?: string;
  text: string;
  /** Encoded body of a gateway message: html, card, buttons, attachments. */
  body?: Record<string, unknown>;
  replyToId?: number;
  visibleTo?: string;
  at: number;
  editedAt?: number;
  deletedAt?: number;
}

/** A change to a room, in one sequence over all rooms, so that a page can resume from the last it saw. */
export interface WebChatChange {
  seq: number;
  message: WebChatMessage;
}

/**
 * The end of a list: after `limit` entries, or before it has more than `maxBytes` bytes. The list has one entry at least, regardless of its
 * length.
 */
export interface Most {
  limit: number;
  maxBytes?: number;
}

export interface WebChatStore {
  rooms(): Promise<WebRoom[]>;
  saveRoom(room: WebRoom): Promise<void>;
  /** Posts once per nonce: a second call with it gives the first message. */
  post(message: Omit<WebChatMessage, "id">, nonce: string): Promise<WebChatChange>;
  /** Undefined when the message is gone. Without `at` the words did not change (a reaction): `editedAt` stays as it is. */
  edit(
    id: number,
    change: { text: string; body?: Record<string, unknown>; at?: number },
  ): Promise<WebChatChange | undefined>;
  /** Undefined when the message is gone. Its text and body are deleted; `body` replaces the body. */
  remove(id: number, at: number, body?: Record<string, unknown>): Promise<WebChatChange | undefined>;
  get(id: number): Promise<WebChatMessage | undefined>;
  /** The newest before `beforeId` that the reader may see (absent: all), oldest first. `more`: there are others before them. */
  history(
    roomId: string,
    from: Most & { readerId?: string; beforeId?: number | undefined },
  ): Promise<{ messages: WebChatMessage[]; more: boolean }>;
  /** The newest message that the reader may see. */
  newestId(roomId: string, readerId: string): Promise<number | undefined>;
  /** Changes after `seq`, oldest first. `more`: there are others after them. */
  changesAfter(seq: number, most: Most): Promise<{ changes: WebChatChange[]; more: boolean }>;
  lastSeq(): Promise<number>;
}

export interface StoreHealth {
  /** The database is damaged or was deleted: an operator must act. */
  problem: HookgateError | undefined;
  /** Losses that do not stop the gateway, one sentence each. */
  remarks: readonly string[];
}

export interface Store {
  inbox: InboxStore;
  outbox: OutboxStore;
  journal: Journal;
  actions: ActionStore;
  links: LinkStore;
  pauses: PauseStore;
  audit: AuditStore;
  hookState: HookStateStore;
  keyValue: KeyValueStore;
  web: WebChatStore;
  automation: AutomationStore;
  pending: PendingStore;
  tasks: TaskStore;
  sla: SlaStore;
  missions: MissionStores;
  alerts: AlertStore;
  /** Facts of one adapter or part that are read all the time: in memory, as text. Facts that are read now and then are in `keyValue`. */
  cursors(scope: string): CursorStore;
  /** A secret that this installation made for itself on first use (a signing key); it never changes. */
  ownSecret(name: string): Promise<string>;
  /** The owner's login token, which this installation creates for itself. It is not in the database. */
  consoleToken(): string;
  /** The clock was set by `stepMs`: stored runs, tasks, pending work and SLA announcements that wait keep the length of their wait. */
  shiftWaits(stepMs: number): Promise<void>;
  /** Deletes rows that are older or more than the retention allows; resolves with rows removed, by table. */
  sweep(now: number): Promise<Record<string, number>>;
  /** Resolves when all that is committed so far is durable: with `durability: full` it survives a power cut, too. */
  durable(): Promise<void>;
  /** Resolves when all writes that the store received so far are durable, also those that are not committed yet. */
  written(): Promise<void>;
  /** Rejects with the error that writes would meet, or with the damage that is known. */
  check(): Promise<void>;
  /** Known problems of the files, without touching them. */
  health(): StoreHealth;
  /** Checks the whole database once a day, however often it is called; damage is in `health()` then. Rejects when the check cannot run. */
  verify(now: number): Promise<void>;
  close(): Promise<void>;
}
