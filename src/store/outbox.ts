/** The outbox: deliveries in order per conversation, with the frozen decision and the parts of each. */
import type { Database } from "better-sqlite3";
import type { Address } from "../domain/address.js";
import type { DeliveryPart, DeliveryStatus, NewDelivery, OutboxStore } from "../domain/store.js";
import { HookgateError } from "../lib/errors.js";
import type { Connection } from "./connection.js";
import {
  conversationOf,
  DELIVERY_COLUMNS,
  type DeliveryRecord,
  deliveryData,
  PART_COLUMNS,
  type PartRecord,
  parseData,
} from "./delivery-rows.js";
import { outboxQueries } from "./outbox-queries.js";

type PartRow = [
  delivery: number,
  position: number,
  operation: DeliveryPart["operation"],
  status: DeliveryPart["status"],
  attempts: number,
  nonce: string,
  platform: string,
  bot: string,
  chat: string,
  messageId: string | null,
  encoded: string | null,
];

/** Sends under way are far fewer. */
const MAX_SHORT = 2_000;
const OPEN = "status IN ('waiting', 'sending')";

/** Writes a delivery inside the open transaction; an id that exists is left alone. */
export type InsertDelivery = (delivery: NewDelivery, at: number) => void;

export function createInsertDelivery(database: Database): InsertDelivery {
  const insert = database.prepare<
    [string, string, number, number, number | null, string | null, string, string | null]
  >(
    `INSERT INTO deliveries (id, conversation, status, created_at, due_at, expires_at, target_id, data, message)
     VALUES (?, ?, 'waiting', ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  return (delivery, at) => {
    const message = delivery.message === undefined ? null : JSON.stringify(delivery.message);
    const { id, expiresAt, targetId } = delivery;
    const data = deliveryData(delivery);
    insert.run(id, conversationOf(delivery), at, at, expiresAt ?? null, targetId ?? null, data, message);
  };
}

export function createOutbox(connection: Connection, insertDelivery: InsertDelivery): OutboxStore {
  const { database, write } = connection;
  const find = database.prepare<[string], DeliveryRecord>(`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ?`);
  const parts = createParts(database);
  // A delivery that waits has no parts yet, so that there is nothing to replace. `IS`: a delete has no message.
  const freezeFirst = database.prepare<[string | null, string | null, string], { seq: number; data: string }>(
    `UPDATE deliveries SET status = 'sending', frozen = iif(message IS ?, '', ifnull(?, '')) WHERE id = ? AND status = 'waiting'
     RETURNING seq, data`,
  );
  const freezeAgain = database.prepare<[string | null, string | null, number]>(
    "UPDATE deliveries SET status = 'sending', frozen = iif(message IS ?, '', ifnull(?, '')) WHERE seq = ?",
  );
  const addToken = database.prepare<[string, string, string, number]>(
    "INSERT OR REPLACE INTO action_tokens (token, delivery_id, action, expires_at) VALUES (?, ?, ?, ?)",
  );
  const setData = database.prepare<[string, string, number]>(
    "UPDATE deliveries SET data = ?, conversation = ? WHERE seq = ?",
  );
  const setSent = database.prepare<[number, number]>(
    "UPDATE deliveries SET status = 'sent', settled_at = ?, reason = NULL WHERE seq = ?",
  );
  const setShortSent = database.prepare<[number, number]>(
    "UPDATE deliveries SET status = 'sent', settled_at = ?, reason = NULL WHERE seq = ? AND status = 'sending'",
  );
  const retry = database.prepare<[number, string, string]>(
    `UPDATE deliveries SET due_at = ?, reason = ?, attempts = attempts + 1 WHERE id = ? AND ${OPEN}`,
  );
  const finish = database.prepare<[DeliveryStatus, string, number, string]>(
    `UPDATE deliveries SET status = ?, reason = ?, settled_at = ? WHERE id = ? AND (${OPEN} OR status = 'held')`,
  );
  const release = database.prepare<[DeliveryStatus, number, number]>(
    `UPDATE deliveries SET status = ?, due_at = ?, attempts = 0, expires_at = NULL, settled_at = NULL, reason = NULL
     WHERE seq = ?`,
  );
  const addLink = createAddLink(database);
  const short = new ShortDeliveries();

  const open = (id: string): DeliveryRecord => {
    const record = find.get(id);
    if (record?.status === "waiting" || record?.status === "sending") return record;
    const state = record ? `is ${record.status}` : "does not exist";
    throw new HookgateError({ code: "STORE_FAILED", message: `delivery ${id} ${state}, so it cannot be sent` });
  };

  /** After a part was confirmed: the next part goes on the wire, or the delivery is done. */
  const advance = (delivery: DeliveryRecord, at: number, nextWaits: boolean): void => {
    if (nextWaits ? parts.isUnsent(delivery.seq) : parts.sendNext(delivery.seq)) return;
    setSent.run(at, delivery.seq);
    const { address, mirrors } = parseData(delivery);
    if (!mirrors) return;
    for (const part of parts.of(delivery.seq))
      if (part.operation === "create" && part.message_id !== null)
        addLink(delivery.id, mirrors, { address, messageId: part.message_id }, at);
  };

  return {
    ...outboxQueries(connection),
    enqueue: (deliveries, at) =>
      write(() => {
        for (const delivery of deliveries) insertDelivery(delivery, at);
      }),
    freeze: (id, message, newParts, tokens) => {
      const json = message === undefined ? null : JSON.stringify(message);
      return write(() => {
        const first = freezeFirst.get(json, json, id);
        const { seq, data } = first ?? open(id);
        const { address, mirrors } = parseData({ data });
        if (first) for (const part of newParts) parts.add(seq, address, part);
        else {
          freezeAgain.run(json, json, seq);
          parts.replace(seq, address, newParts);
        }
        if (first && newParts.length === 1 && !mirrors) short.add(id, seq);
        else short.take(id);
        for (const { token, action, expiresAt } of tokens) addToken.run(token, id, JSON.stringify(action), expiresAt);
      });
    },
    reencode: (id, newParts, change) =>
      write(() => {
        short.take(id);
        const delivery = open(id);
        const data = parseData(delivery);
        if (change?.address) data.address = change.address;
        if (change?.withoutInteraction) delete data.interaction;
        if (change) setData.run(deliveryData(data), conversationOf(data), delivery.seq);
        parts.replace(delivery.seq, data.address, newParts);
      }),
    partSending: (id, index) => write(() => parts.sending(open(id).seq, index)),
    partSent: (id, index, messageId, at, nextWaits = false) =>
      write(() => {
        const seq = short.take(id);
        if (seq !== undefined) {
          if (parts.sent(seq, index, messageId)) setShortSent.run(at, seq);
          return;
        }
        const delivery = find.get(id);
        // Settled by an operator meanwhile, or confirmed twice: the platform's id is kept, the status is not touched.
        if (!delivery || !parts.sent(delivery.seq, index, messageId)) return;
        if (delivery.status === "sending") advance(delivery, at, nextWaits);
      }),
    retryAt: (id, dueAt, reason) =>
      write(() => {
        const record = find.get(id);
        // Nothing was posted: after a restart the part must not look as if it had been on the wire.
        if (record && retry.run(dueAt, reason, id).changes > 0) parts.notSent(record.seq);
      }),
    finish: (id, status, reason, at) => write(() => void finish.run(status, reason, at, id)),
    release: (id, at, confirmed) =>
      write(() => {
        const record = find.get(id);
        if (record?.status !== "held" && record?.status !== "dead") return false;
        const isFrozen = record.frozen !== null;
        release.run(isFrozen ? "sending" : "waiting", at, record.seq);
        if (!isFrozen) return true;
        if (confirmed) parts.confirm(record.seq);
        else parts.notSent(record.seq);
        if (confirmed) advance(record, at, true);
        return true;
      }),
  };
}

/**
 * Deliveries that this process froze as one part that mirrors nothing: once that part is confirmed they are sent, and their
 * rows need not be asked. Only a hint: whatever is not here (any more) is looked up.
 */
class ShortDeliveries {
  readonly #seqs = new Map<string, number>();

  add(id: string, seq: number): void {
    this.#seqs.set(id, seq);
    if (this.#seqs.size <= MAX_SHORT) return;
    for (const oldest of this.#seqs.keys()) {
      this.#seqs.delete(oldest);
      break;
    }
  }

  take(id: string): number | undefined {
    const seq = this.#seqs.get(id);
    if (seq !== undefined) this.#seqs.delete(id);
    return seq;
  }
}

function createParts(database: Database) {
  const insert = database.prepare<PartRow>(
    `INSERT INTO delivery_parts (delivery, position, operation, status, attempts, nonce, platform, bot, chat, message_id, encoded)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const removeUnsent = database.prepare<[number]>("DELETE FROM delivery_parts WHERE delivery = ? AND status <> 'sent'");
  const sendNext = database.prepare<[number, number]>(
    `UPDATE delivery_parts SET status = 'sending', attempts = attempts + 1 WHERE delivery = ? AND position =
       (SELECT min(position) FROM delivery_parts WHERE delivery = ? AND status <> 'sent')`,
  );
  const sending = database.prepare<[number, number]>(
    `UPDATE delivery_parts SET status = 'sending', attempts = attempts + 1
     WHERE delivery = ? AND position = ? AND status <> 'sent'`,
  );
  const sent = database.prepare<[string, number, number]>(
    "UPDATE delivery_parts SET status = 'sent', message_id = ? WHERE delivery = ? AND position = ? AND status <> 'sent'",
  );
  const notSent = database.prepare<[number]>(
    "UPDATE delivery_parts SET status = 'waiting' WHERE delivery = ? AND status = 'sending'",
  );
  const confirm = database.prepare<[number]>(
    "UPDATE delivery_parts SET status = 'sent' WHERE delivery = ? AND status = 'sending'",
  );
  const isUnsent = database.prepare<[number]>(
    "SELECT 1 FROM delivery_parts WHERE delivery = ? AND status <> 'sent' LIMIT 1",
  );
  const of = database.prepare<[number], PartRecord>(
    `SELECT ${PART_COLUMNS} FROM delivery_parts WHERE delivery = ? ORDER BY position`,
  );
  const add = (delivery: number, { platform, botId, chatId }: Address, part: DeliveryPart): void => {
    const { index, operation, nonce, messageId, status, attempts } = part;
    const encoded = part.part === undefined ? null : JSON.stringify(part.part);
    const id = messageId ?? null;
    insert.run(delivery, index, operation, status, attempts, nonce, platform, botId, chatId, id, encoded);
  };
  return {
    /** Those that were sent stay; the rest is replaced. */
    replace(delivery: number, address: Address, parts: readonly DeliveryPart[]): void {
      removeUnsent.run(delivery);
      const kept = new Set(of.all(delivery).map((part) => part.position));
      for (const part of parts) if (!kept.has(part.index)) add(delivery, address, part);
    },
    add,
    isUnsent: (delivery: number): boolean => isUnsent.get(delivery) !== undefined,
    /** False when all are sent. */
    sendNext: (delivery: number): boolean => sendNext.run(delivery, delivery).changes > 0,
    sending: (delivery: number, index: number): void => void sending.run(delivery, index),
    sent: (delivery: number, index: number, messageId: string): boolean =>
      sent.run(messageId, delivery, index).changes > 0,
    notSent: (delivery: number): void => void notSent.run(delivery),
    confirm: (delivery: number): void => void confirm.run(delivery),
    of: (delivery: number): PartRecord[] => of.all(delivery),
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
