/** Puts deliveries into the outbox, inside the transaction that is open: as given, or as hooks decided on them. */
import type { Database } from "better-sqlite3";
import type { ActionToken, Decided, NewDelivery } from "../../domain/store.js";
import { conversationOf, deliveryData } from "./delivery-rows.js";

/**
 * Gives the seq of the new row; 0 for an id that exists, whose row is left alone. `asked`: how often hooks were asked about the delivery.
 */
export type AddDelivery = (delivery: NewDelivery, at: number, asked?: number, decided?: Decided) => number;

export function createAddDelivery(database: Database): AddDelivery {
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
  const addTokens = createAddTokens(database);
  return (delivery, at, asked = 0, decided) => {
    const message = jsonOf(delivery.message);
    const { changes, lastInsertRowid } = insert.run(
      delivery.id,
      conversationOf(delivery),
      decided ? "sending" : "waiting",
      at,
      at,
      delivery.expiresAt ?? null,
      delivery.targetId ?? null,
      deliveryData(delivery),
      message,
      decided ? frozenJson(delivery.message, message, decided.message) : null,
      decided ? JSON.stringify(decided.parts) : null,
      asked,
    );
    if (changes === 0) return 0;
    if (decided) addTokens(delivery.id, decided.tokens);
    return Number(lastInsertRowid);
  };
}

/** Stores the actions of a delivery's buttons. */
export function createAddTokens(database: Database): (deliveryId: string, tokens: readonly ActionToken[]) => void {
  const insert = database.prepare<[string, string, string, number]>(
    "INSERT OR REPLACE INTO action_tokens (token, delivery_id, action, expires_at) VALUES (?, ?, ?, ?)",
  );
  return (deliveryId, tokens) => {
    for (const { token, action, expiresAt } of tokens) insert.run(token, deliveryId, JSON.stringify(action), expiresAt);
  };
}

/** The message after the hooks, as the column `frozen` has it: empty when the hooks changed nothing. */
function frozenJson(before: Decided["message"], beforeJson: string | null, after: Decided["message"]): string {
  if (after === before) return "";
  const afterJson = jsonOf(after) ?? "";
  return afterJson === beforeJson ? "" : afterJson;
}

const jsonOf = (message: Decided["message"]): string | null => (message === undefined ? null : JSON.stringify(message));
