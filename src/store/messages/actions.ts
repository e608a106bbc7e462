/** The actions of buttons, by their token. The outbox writes them, in the transaction that freezes the message. */
import type { ActionStore } from "../../domain/store.js";
import type { Connection } from "../connection.js";

export function createActions({ database, read }: Connection): ActionStore {
  const get = database.prepare<[string], { deliveryId: string; action: string; expiresAt: number }>(
    "SELECT delivery_id AS deliveryId, action, expires_at AS expiresAt FROM action_tokens WHERE token = ?",
  );
  return {
    get: (token) =>
      read(() => {
        const row = get.get(token);
        return row && { token, deliveryId: row.deliveryId, action: JSON.parse(row.action), expiresAt: row.expiresAt };
      }),
  };
}
