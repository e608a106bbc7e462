/**
 * The steps after parts of a delivery were confirmed, in the open transaction: the next part goes on the wire, or the delivery is sent.
 * The messages that were posted can be found by their ids then, and mirrored ones are linked.
 */
import type { Database } from "better-sqlite3";
import type { ConversationSight } from "../../domain/alerts/sla.js";
import type { Address } from "../../domain/chat/address.js";
import { isNothingLeft } from "../../domain/chat/lost-files.js";
import type { DeliveryPart } from "../../domain/store.js";
import { isUnsent, markSending, type Parts } from "./delivery-parts.js";
import { type DeliveryRecord, parseData, toDelivery } from "./delivery-rows.js";
import type { DeliveryTable } from "./delivery-table.js";
import type { PendingEnds } from "./pending-ends.js";

export class ConfirmedParts {
  readonly #statements;
  readonly #table: DeliveryTable;
  readonly #addEnd: PendingEnds["addEnd"];
  readonly #insertSight: (sight: ConversationSight) => void;

  constructor(
    database: Database,
    table: DeliveryTable,
    addEnd: PendingEnds["addEnd"],
    insertSight: (sight: ConversationSight) => void,
  ) {
    this.#statements = prepareStatements(database);
    this.#table = table;
    this.#addEnd = addEnd;
    this.#insertSight = insertSight;
  }

  /** After a part was confirmed: the next part goes on the wire, or the delivery is done. */
  advance(
    delivery: DeliveryRecord,
    parts: Parts,
    at: number,
    { nextWaits, hasHooks }: { nextWaits: boolean; hasHooks: boolean },
  ): void {
    const next = parts.find(isUnsent);
    if (next) {
      const partsNow = nextWaits ? parts : markSending(parts, next.index, at - delivery.created_at);
      this.#table.setParts(delivery.seq, partsNow);
      return;
    }
    this.#statements.setSent.run(JSON.stringify(parts), at, delivery.seq);
    if (hasHooks) this.#addEnd(delivery.id);
    this.#addSight(delivery, parts, at);
    this.addLinks(delivery, parts, at);
  }

  /** Stores the origin of a platform's message. Only for created messages: an edit's message is found already. */
  addPosted(
    delivery: number,
    { platform, botId, chatId }: Address,
    { operation, messageId }: Pick<DeliveryPart, "operation" | "messageId">,
  ): void {
    if (operation === "create" && messageId !== undefined)
      this.#statements.insertPosted.run(messageId, chatId, botId, platform, delivery);
  }

  /** Stores the pairs of a message and those that mirror it, when the delivery is a mirror. */
  addLinks(delivery: DeliveryRecord, parts: Parts, at: number): void {
    const { address, mirrors } = parseData(delivery);
    if (!mirrors) return;
    const origin = linkColumns(mirrors);
    for (const { operation, messageId } of parts)
      if (operation === "create" && messageId !== undefined)
        this.#statements.insertLink.run(delivery.id, at, ...origin, ...linkColumns({ address, messageId }));
  }

  #addSight(delivery: DeliveryRecord, parts: Parts, at: number): void {
    const { address, sight } = parseData(delivery);
    // A change of a posted message is no new answer.
    const isFirst = parts.every(({ operation }) => operation === "create");
    const isAnswer = sight && isFirst && !isNothingLeft({ ...toDelivery(delivery), parts: [...parts] });
    if (isAnswer && !this.#statements.hasDeletion.get(sight.messageId)) this.#insertSight({ ...sight, address, at });
  }
}

function linkColumns({ address, messageId }: { address: Address; messageId: string }) {
  return [address.platform, address.botId, address.chatId, address.threadId ?? null, messageId];
}

function prepareStatements(database: Database) {
  return {
    // A delivery that was tried more than once keeps its reason: it explains why it was sent late.
    setSent: database.prepare<[string, number, number]>(
      `UPDATE deliveries SET status = 'sent', parts = ?, settled_at = ?, reason = CASE WHEN attempts > 0 THEN reason END
       WHERE seq = ?`,
    ),
    // The author of the answer deleted it while it was on its way. Only a deletion has no message.
    hasDeletion: database.prepare<[string]>("SELECT 1 FROM deliveries WHERE target_id = ? AND message IS NULL"),
    insertPosted: database.prepare<[string, string, string, string, number]>(
      "INSERT OR REPLACE INTO posted (message_id, chat, bot, platform, delivery) VALUES (?, ?, ?, ?, ?)",
    ),
    insertLink: database.prepare<(string | number | null)[]>(
      `INSERT INTO links (delivery_id, at,
         origin_platform, origin_bot, origin_chat, origin_thread, origin_message,
         mirror_platform, mirror_bot, mirror_chat, mirror_thread, mirror_message)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  };
}
