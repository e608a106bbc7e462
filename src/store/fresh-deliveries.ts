/**
 * Deliveries that the open transaction is about to add. Mostly one is decided on in the very transaction that adds it: then its row is
 * written once, as decided. Code that reads its table inserts it first. Where the rows of the last ones are is remembered, so that the
 * decision on them need not look for them.
 */
import type { DeliveryPart, NewDelivery } from "../domain/store.js";
import { boundedMap } from "./bounded-map.js";
import type { Connection } from "./connection.js";
import { conversationOf, deliveryData } from "./delivery-rows.js";

type Message = NewDelivery["message"];
type Parts = readonly DeliveryPart[];

/** Where its row is, and what does not change while it is remembered. */
interface KnownRow extends Pick<NewDelivery, "address" | "message" | "mirrors" | "sight"> {
  seq: number;
}

/** Not yet in its table. */
interface Fresh {
  delivery: NewDelivery;
  at: number;
  asked: number;
}

export interface FreshDeliveries {
  /** Adds a delivery; an id that exists is left alone. Like the others, inside an open transaction. */
  add(delivery: NewDelivery, at: number): void;
  /** Counts that hooks are asked about a delivery that the open transaction adds. Undefined when it is in its table. */
  asking(id: string): number | undefined;
  /** Writes what was decided on a delivery of the last moments. Undefined when it is not known here, or is not waiting any more. */
  freeze(id: string, message: Message, parts: Parts): KnownRow | undefined;
  /** It is changed: what is remembered of it does not hold. */
  forget(id: string): void;
  insertAll(): void;
}

/** More than wait for their turn in memory when a platform that cannot be slowed down sends a flood. */
const MAX_REMEMBERED = 10_000;

export function createFreshDeliveries({ database, onTransaction }: Connection): FreshDeliveries {
  const insert = database.prepare<
    [
      id: string,
      conversation: string,
      status: "waiting" | "sending",
      createdAt: number,
      dueAt: number,
      expiresAt: number | null,
      targetId: string | null,
      data: string,
      message: string | null,
      frozen: string | null,
      parts: string | null,
      asked: number,
    ]
  >(
    `INSERT INTO deliveries
       (id, conversation, status, created_at, due_at, expires_at, target_id, data, message, frozen, parts, asked)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  // The id, because a row that is remembered may have been rolled back, and its number given to another.
  const decide = database.prepare<[frozen: string, parts: string, seq: number, id: string]>(
    "UPDATE deliveries SET status = 'sending', frozen = ?, parts = ? WHERE seq = ? AND id = ? AND status = 'waiting'",
  );
  let fresh = new Map<string, Fresh>();
  const inserted = boundedMap<KnownRow>(MAX_REMEMBERED);

  const write = ({ delivery, at, asked }: Fresh, decided?: { frozen: string; parts: Parts }): KnownRow | undefined => {
    const { changes, lastInsertRowid } = insert.run(
      delivery.id,
      conversationOf(delivery),
      decided ? "sending" : "waiting",
      at,
      at,
      delivery.expiresAt ?? null,
      delivery.targetId ?? null,
      deliveryData(delivery),
      json(delivery.message),
      decided?.frozen ?? null,
      decided ? JSON.stringify(decided.parts) : null,
      asked,
    );
    if (changes === 0) return undefined;
    const { address, message, mirrors, sight } = delivery;
    const row: KnownRow = { seq: Number(lastInsertRowid), address };
    if (message !== undefined) row.message = message;
    if (mirrors !== undefined) row.mirrors = mirrors;
    if (sight !== undefined) row.sight = sight;
    return row;
  };

  /** By another one: a map that is cleared holds on to all that it ever held (see lib/transient-map.ts). */
  const forgetAll = (): void => {
    if (fresh.size > 0) fresh = new Map();
  };

  const insertAll = (): void => {
    for (const one of fresh.values()) {
      const row = write(one);
      if (row) inserted.set(one.delivery.id, row);
    }
    forgetAll();
  };
  // Emptied first: a transaction that failed is run again.
  onTransaction({ begin: forgetAll, end: insertAll });

  return {
    add(delivery, at) {
      if (!fresh.has(delivery.id)) fresh.set(delivery.id, { delivery, at, asked: 0 });
    },
    asking(id) {
      const coming = fresh.get(id);
      return coming === undefined ? undefined : ++coming.asked;
    },
    freeze(id, message, parts) {
      const coming = fresh.get(id);
      if (coming) {
        fresh.delete(id);
        return write(coming, { frozen: frozenJson(coming.delivery.message, message), parts });
      }
      const row = inserted.take(id);
      if (!row) return undefined;
      const { changes } = decide.run(frozenJson(row.message, message), JSON.stringify(parts), row.seq, id);
      return changes > 0 ? row : undefined;
    },
    forget: (id) => void inserted.take(id),
    insertAll,
  };
}

/** The message after the hooks, as the column `frozen` has it: empty when it is as it was before them. */
function frozenJson(before: Message, after: Message): string {
  if (after === before) return "";
  const afterJson = json(after) ?? "";
  return afterJson === json(before) ? "" : afterJson;
}

function json(message: Message): string | null {
  return message === undefined ? null : JSON.stringify(message);
}
