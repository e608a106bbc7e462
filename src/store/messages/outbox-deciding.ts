/** The decision on a delivery in the outbox: hooks are asked, their decision is frozen, and its parts may be replaced. */
import type { Database } from "better-sqlite3";
import type { OutboxStore } from "../../domain/store.js";
import type { Connection } from "../connection.js";
import { keepChat, replaceUnsent } from "./delivery-parts.js";
import { conversationOf, deliveryData, parseData, parseParts } from "./delivery-rows.js";
import { type DeliveryTable, notOpen } from "./delivery-table.js";
import { createAddTokens } from "./new-deliveries.js";

type Deciding = Pick<OutboxStore, "asking" | "freeze" | "reencode">;

export function createDeciding({ database, write, commit }: Connection, table: DeliveryTable): Deciding {
  const statements = prepareStatements(database);
  const addTokens = createAddTokens(database);
  return {
    asking: (id) => commit(() => statements.ask.get(id)?.asked ?? notOpen(id, table.find(id)?.status)),
    freeze: (id, message, parts, tokens, round) => {
      const json = message === undefined ? null : JSON.stringify(message);
      return write(() => {
        if (statements.freeze.run(json, json, JSON.stringify(parts), id, round ?? null).changes === 0) {
          const { seq, status, parts: before } = table.requireOpen(id);
          if (status === "waiting") notOpen(id, "corrected");
          // The delivery was frozen before: its sent parts stay.
          const partsNow = replaceUnsent(parseParts({ parts: before }), parts);
          statements.freezeAgain.run(json, json, JSON.stringify(partsNow), seq);
        }
        addTokens(id, tokens);
      });
    },
    reencode: (id, parts, change) =>
      write(() => {
        const delivery = table.requireOpen(id);
        const data = parseData(delivery);
        const { chatId } = data.address;
        const hasMoved = change?.address !== undefined && change.address.chatId !== chatId;
        const before = hasMoved ? keepChat(parseParts(delivery), chatId) : parseParts(delivery);
        if (change?.address) data.address = change.address;
        if (change?.withoutInteraction) delete data.interaction;
        if (change?.isApart) data.isApart = true;
        if (change?.openly) data.openly = change.openly;
        if (change) statements.setData.run(deliveryData(data), conversationOf(data), delivery.seq);
        if (change?.withoutReference) statements.dropReference.run(delivery.seq);
        table.setParts(delivery.seq, replaceUnsent(before, parts));
      }),
  };
}

function prepareStatements(database: Database) {
  return {
    ask: database.prepare<[string], { asked: number }>(
      "UPDATE deliveries SET asked = asked + 1 WHERE id = ? AND status = 'waiting' RETURNING asked",
    ),
    // `IS`: a delete has no message.
    freeze: database.prepare<[string | null, string | null, string, string, number | null]>(
      `UPDATE deliveries SET status = 'sending', frozen = iif(message IS ?, '', ifnull(?, '')), parts = ?
       WHERE id = ? AND status = 'waiting' AND round = ifnull(?, round)`,
    ),
    freezeAgain: database.prepare<[string | null, string | null, string, number]>(
      "UPDATE deliveries SET status = 'sending', frozen = iif(message IS ?, '', ifnull(?, '')), parts = ? WHERE seq = ?",
    ),
    setData: database.prepare<[string, string, number]>(
      "UPDATE deliveries SET data = ?, conversation = ? WHERE seq = ?",
    ),
    // An empty `frozen` means that hooks changed nothing.
    dropReference: database.prepare<[number]>(
      `UPDATE deliveries SET message = json_remove(message, '$.replyToId'),
         frozen = iif(frozen = '', '', json_remove(frozen, '$.replyToId'))
       WHERE seq = ?`,
    ),
  };
}
