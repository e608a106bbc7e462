/** The outbox: deliveries in order per conversation, with the frozen decision and the parts of each. */
import type { Database } from "better-sqlite3";
import type { Address } from "../../domain/chat/address.js";
import { isNothingLeft } from "../../domain/chat/lost-files.js";
import {
  isUnanswered,
  isUnknownToUs,
  isUntold,
  withdrawnReason,
  withdrawnReasonNow,
} from "../../domain/deliveries/given-up.js";
import type { DeliveryPart, DeliveryStatus, OutboxStore } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import type { Connection } from "../connection.js";
import type { GiveUp } from "../database-file/unreadable.js";
import type { AddPending } from "../pending.js";
import { createInsertSight } from "../sla/conversations.js";
import {
  asSent,
  confirmAll,
  confirmSending,
  isUnsent,
  keepChat,
  markInDoubt,
  markNotSent,
  markSending,
  markSent,
  markUntried,
  markUnwritten,
  type Parts,
  replaceUnsent,
} from "./delivery-parts.js";
import {
  conversationOf,
  DELIVERY_COLUMNS,
  type DeliveryRecord,
  deliveryData,
  IS_OPEN,
  parseData,
  parseParts,
  toDelivery,
} from "./delivery-rows.js";
import { createDeliveryLetters } from "./letters.js";
import { type AddDelivery, createAddTokens } from "./new-deliveries.js";
import { outboxQueries } from "./outbox-queries.js";
import { createPendingEnds } from "./pending-ends.js";

export function createOutbox(
  connection: Connection,
  addDelivery: AddDelivery,
  giveUp: GiveUp,
  addPending: AddPending,
): OutboxStore {
  const { database, write, commit } = connection;
  const find = database.prepare<[string], DeliveryRecord>(`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ?`);
  // `IS`: a delete has no message.
  const freeze = database.prepare<[string | null, string | null, string, string, number | null]>(
    `UPDATE deliveries SET status = 'sending', frozen = iif(message IS ?, '', ifnull(?, '')), parts = ?
     WHERE id = ? AND status = 'waiting' AND round = ifnull(?, round)`,
  );
  const correct = database.prepare<[string, string, number]>(
    `UPDATE deliveries SET message = ?, data = ?, frozen = NULL, parts = NULL, status = iif(status = 'held', 'held', 'waiting'),
       round = round + 1, asked = 0
     WHERE seq = ?`,
  );
  const freezeAgain = database.prepare<[string | null, string | null, string, number]>(
    "UPDATE deliveries SET status = 'sending', frozen = iif(message IS ?, '', ifnull(?, '')), parts = ? WHERE seq = ?",
  );
  const setParts = database.prepare<[string, number]>("UPDATE deliveries SET parts = ? WHERE seq = ?");
  const setEnded = database.prepare<[string, string | null, number]>(
    "UPDATE deliveries SET parts = ?, reason = ? WHERE seq = ?",
  );
  const addTokens = createAddTokens(database);
  const setData = database.prepare<[string, string, number]>(
    "UPDATE deliveries SET data = ?, conversation = ? WHERE seq = ?",
  );
  // An empty `frozen` means that hooks changed nothing.
  const dropReference = database.prepare<[number]>(
    `UPDATE deliveries SET message = json_remove(message, '$.replyToId'),
       frozen = iif(frozen = '', '', json_remove(frozen, '$.replyToId'))
     WHERE seq = ?`,
  );
  // A delivery that was tried more than once keeps its reason: it explains why it was sent late.
  const setSent = database.prepare<[string, number, number]>(
    `UPDATE deliveries SET status = 'sent', parts = ?, settled_at = ?, reason = CASE WHEN attempts > 0 THEN reason END
     WHERE seq = ?`,
  );
  const setOnlySent = database.prepare<[string, number, number, string]>(
    `UPDATE deliveries SET status = 'sent', parts = ?, settled_at = ?, reason = CASE WHEN attempts > 0 THEN reason END
     WHERE seq = ? AND id = ? AND status = 'sending'`,
  );
  const retry = database.prepare<[number, string, string, number, number]>(
    "UPDATE deliveries SET due_at = ?, reason = ?, attempts = attempts + 1, parts = ?, waits = waits + ? WHERE seq = ?",
  );
  const postpone = database.prepare<[number, string, string, number]>(
    "UPDATE deliveries SET due_at = ?, reason = iif(attempts > 0, reason, ?), parts = ? WHERE seq = ?",
  );
  const finish = database.prepare<[DeliveryStatus, string, number, string, DeliveryStatus]>(
    `UPDATE deliveries SET status = ?, reason = ?, settled_at = ?
     WHERE id = ? AND (${IS_OPEN} OR status = 'held' OR (status IN ('dead', 'superseded') AND ? IN ('superseded', 'cancelled')))`,
  );
  const ask = database.prepare<[string], { asked: number }>(
    "UPDATE deliveries SET asked = asked + 1 WHERE id = ? AND status = 'waiting' RETURNING asked",
  );
  const release = database.prepare<[DeliveryStatus, number, number | null, number]>(
    `UPDATE deliveries SET status = ?, due_at = ?, attempts = 0, waits = 0, expires_at = ?, settled_at = NULL, reason = NULL,
       round = round + 1, asked = 0
     WHERE seq = ?`,
  );
  const shift = database.prepare<[number, number, number]>(
    `UPDATE deliveries SET created_at = created_at + ?, due_at = due_at + ?, expires_at = expires_at + ? WHERE ${IS_OPEN}`,
  );
  const dueNow = database.prepare<[number, number, string, string, string]>(
    `UPDATE deliveries SET due_at = ? WHERE ${IS_OPEN} AND due_at > ?
     AND (conversation = ? OR substr(conversation, 1, length(?) + 1) = ? || ':')`,
  );
  const addPosted = createAddPosted(database);
  const insertSight = createInsertSight(database);
  // The author of the answer deleted it while it was on its way. Only a deletion has no message.
  const hasDeletion = database.prepare<[string]>("SELECT 1 FROM deliveries WHERE target_id = ? AND message IS NULL");
  const { addEnd, isEndPending, endNotified } = createPendingEnds(connection, addPending);
  const addLink = createAddLink(database);

  const open = (id: string): DeliveryRecord => {
    const record = find.get(id);
    if (record?.status === "waiting" || record?.status === "sending") return record;
    return notOpen(id, record?.status);
  };

  /** After a part was confirmed: the next part goes on the wire, or the delivery is done. */
  const advance = (
    delivery: DeliveryRecord,
    parts: Parts,
    at: number,
    { nextWaits, hasHooks }: { nextWaits: boolean; hasHooks: boolean },
  ): void => {
    const next = parts.find(isUnsent);
    if (next)
      return void setParts.run(
        JSON.stringify(nextWaits ? parts : markSending(parts, next.index, at - delivery.created_at)),
        delivery.seq,
      );
    setSent.run(JSON.stringify(parts), at, delivery.seq);
    if (hasHooks) addEnd(delivery.id);
    const { address, sight } = parseData(delivery);
    // A change of a posted message is no new answer.
    const isFirst = parts.every(({ operation }) => operation === "create");
    const isAnswer = sight && isFirst && !isNothingLeft({ ...toDelivery(delivery), parts: [...parts] });
    if (isAnswer && !hasDeletion.get(sight.messageId)) insertSight({ ...sight, address, at });
    link(delivery, parts, at);
  };

  const link = (delivery: DeliveryRecord, parts: Parts, at: number): void => {
    const { address, mirrors } = parseData(delivery);
    if (!mirrors) return;
    for (const { operation, messageId } of parts)
      if (operation === "create" && messageId !== undefined) addLink(delivery.id, mirrors, { address, messageId }, at);
  };

  return {
    ...outboxQueries(connection, giveUp),
    letters: createDeliveryLetters(connection),
    isEndPending,
    endNotified,
    enqueue: (deliveries, at) => write(() => deliveries.map((delivery) => addDelivery(delivery, at))),
    freeze: (id, message, parts, tokens, round) => {
      const json = message === undefined ? null : JSON.stringify(message);
      return write(() => {
        if (freeze.run(json, json, JSON.stringify(parts), id, round ?? null).changes === 0) {
          const { seq, status, parts: before } = open(id);
          if (status === "waiting") notOpen(id, "corrected");
          // The delivery was frozen before: its sent parts stay.
          freezeAgain.run(json, json, JSON.stringify(replaceUnsent(parseParts({ parts: before }), parts)), seq);
        }
        addTokens(id, tokens);
      });
    },
    asking: (id) => commit(() => ask.get(id)?.asked ?? notOpen(id, find.get(id)?.status)),
    reencode: (id, parts, change) =>
      write(() => {
        const delivery = open(id);
        const data = parseData(delivery);
        const { chatId } = data.address;
        const hasMoved = change?.address !== undefined && change.address.chatId !== chatId;
        const before = hasMoved ? keepChat(parseParts(delivery), chatId) : parseParts(delivery);
        if (change?.address) data.address = change.address;
        if (change?.withoutInteraction) delete data.interaction;
        if (change?.isApart) data.isApart = true;
        if (change?.openly) data.openly = change.openly;
        if (change) setData.run(deliveryData(data), conversationOf(data), delivery.seq);
        if (change?.withoutReference) dropReference.run(delivery.seq);
        setParts.run(JSON.stringify(replaceUnsent(before, parts)), delivery.seq);
      }),
    partSending: (id, index, at) =>
      write(() => {
        const delivery = open(id);
        if (delivery.parts === null) notOpen(id, "corrected");
        const afterMs = at === undefined ? 0 : at - delivery.created_at;
        setParts.run(JSON.stringify(markSending(parseParts(delivery), index, afterMs)), delivery.seq);
      }),
    partSent: (id, index, messageId, at, { nextWaits = false, hasHooks = false, only, lostFiles } = {}) =>
      commit(() => {
        if (only) {
          const sent = asSent(only.part, messageId);
          if (setOnlySent.run(JSON.stringify([sent]), at, only.seq, id).changes > 0) {
            if (hasHooks) addEnd(id);
            addPosted(only.seq, only.address, sent);
            return true;
          }
        }
        const delivery = find.get(id);
        const before = delivery ? parseParts(delivery) : [];
        const parts = markSent(before, index, messageId, lostFiles);
        // An operator settled the delivery meanwhile, or the part was confirmed twice: the platform's id is kept, the status is not
        // touched.
        if (!delivery || !parts) return delivery?.status === "sending" || delivery?.status === "sent";
        for (const part of parts) if (part.index === index) addPosted(delivery.seq, parseData(delivery).address, part);
        if (delivery.status === "sending") advance(delivery, parts, at, { nextWaits, hasHooks });
        else {
          setEnded.run(JSON.stringify(parts), withdrawnReasonNow(delivery.reason, before, parts), delivery.seq);
          if (delivery.status === "sent")
            link(
              delivery,
              parts.filter((part) => part.index === index),
              at,
            );
        }
        return delivery.status === "sending";
      }),
    retryAt: (id, dueAt, reason, { mayHaveArrived = false, isWait = false } = {}) =>
      write(() => {
        const record = find.get(id);
        if (record?.status !== "waiting" && record?.status !== "sending") return;
        const mark = mayHaveArrived ? markInDoubt : markNotSent;
        retry.run(dueAt, reason, JSON.stringify(mark(parseParts(record))), isWait ? 1 : 0, record.seq);
      }),
    postpone: (id, dueAt, reason) =>
      write(() => {
        const record = find.get(id);
        if (record?.status !== "waiting" && record?.status !== "sending") return;
        postpone.run(dueAt, reason, JSON.stringify(markUnwritten(parseParts(record))), record.seq);
      }),
    finish: (id, status, reason, at, hasHooks = false, sight) =>
      write(() => {
        if (finish.run(status, reason, at, id, status).changes === 0) return;
        if (hasHooks) addEnd(id);
        if (sight) insertSight(sight);
      }),
    withdraw: (id, reason, at, hasHooks, besideSent = false) =>
      write(() => {
        const record = find.get(id);
        if (record?.status !== "waiting" && record?.status !== "sending") return false;
        const isKept = (part: DeliveryPart) => isUnanswered(part) || isUnknownToUs(part);
        if (besideSent ? parseParts(record).some(isKept) : !isUntouched(record)) return false;
        finish.run("cancelled", reason, at, id, "cancelled");
        if (hasHooks) addEnd(id);
        return true;
      }),
    correct: (id, { message, lostFiles }) =>
      write(() => {
        const record = find.get(id);
        const isHeld = record?.status === "held" && !mayHaveBeenSent(record);
        if (!record || (!isHeld && record.status !== "waiting" && record.status !== "sending")) return false;
        if (!isUntouched(record)) return false;
        correct.run(JSON.stringify(message), deliveryData({ ...parseData(record), lostFiles }), record.seq);
        return true;
      }),
    cancelRest: (id, reason, at, hasHooks) =>
      write(() => {
        const record = find.get(id);
        if (record?.status !== "waiting" && record?.status !== "sending") return undefined;
        const parts = parseParts(record);
        const sent = parts.filter((part) => !isUnsent(part)).length;
        finish.run("cancelled", withdrawnReason(reason, parts), at, id, "cancelled");
        if (hasHooks) addEnd(id);
        return { sent, parts: parts.length, isUnclear: parts.some(isUnanswered) };
      }),
    shift: (stepMs) => write(() => void shift.run(stepMs, stepMs, stepMs)),
    dueNow: (key, at) => write(() => void dueNow.run(at, at, key, key, key)),
    release: (id, at, { expiresAt, confirmed = false, hasHooks = false, sight } = {}) =>
      write(() => {
        const record = find.get(id);
        if (record?.status !== "held" && record?.status !== "dead") return false;
        if (sight) insertSight(sight);
        const isFrozen = record.frozen !== null;
        const hasArrived = confirmed && mayHaveBeenSent(record);
        release.run(isFrozen || hasArrived ? "sending" : "waiting", at, expiresAt ?? null, record.seq);
        if (hasArrived) advance(record, confirmAll(parseParts(record)), at, { nextWaits: true, hasHooks });
        if (!isFrozen || hasArrived) return true;
        if (confirmed) advance(record, confirmSending(parseParts(record)), at, { nextWaits: true, hasHooks });
        else setParts.run(JSON.stringify(markUntried(parseParts(record))), record.seq);
        return true;
      }),
  };
}

function notOpen(id: string, status: DeliveryStatus | "corrected" | undefined): never {
  const state = status === undefined ? "does not exist" : `is ${status}`;
  throw new HookgateError({ code: "STORE_FAILED", message: `delivery ${id} ${state}, so it cannot be sent` });
}

/** No part was sent, is being sent or may have arrived. */
const isUntouched = (record: DeliveryRecord) =>
  !parseParts(record).some((part) => part.status !== "waiting" || part.mayHaveArrived);

/** The parts, and whether hooks decided about the delivery, are of no use then: the row does not show what happened to it. */
const mayHaveBeenSent = ({ status, reason }: DeliveryRecord) => status === "held" && isUntold(reason ?? undefined);

/** Stores the origin of a platform's message. Only for created messages: an edit's message is found already. */
function createAddPosted(database: Database) {
  const insert = database.prepare<[string, string, string, string, number]>(
    "INSERT OR REPLACE INTO posted (message_id, chat, bot, platform, delivery) VALUES (?, ?, ?, ?, ?)",
  );
  return (delivery: number, { platform, botId, chatId }: Address, { operation, messageId }: DeliveryPart): void => {
    if (operation === "create" && messageId !== undefined) insert.run(messageId, chatId, botId, platform, delivery);
  };
}

function createAddLink(database: Database) {
  const insert = database.prepare<(string | number | null)[]>(
    `INSERT INTO links (delivery_id, at,
       origin_platform, origin_bot, origin_chat, origin_thread, origin_message,
       mirror_platform, mirror_bot, mirror_chat, mirror_thread, mirror_message)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const columns = ({ address, messageId }: { address: Address; messageId: string }) => [
    address.platform,
    address.botId,
    address.chatId,
    address.threadId ?? null,
    messageId,
  ];
  return (
    deliveryId: string,
    origin: { address: Address; messageId: string },
    mirror: { address: Address; messageId: string },
    at: number,
  ): void => void insert.run(deliveryId, at, ...columns(origin), ...columns(mirror));
}
