/** A delivery of the outbox while it is sent: its parts go on the wire and are confirmed, or it is tried again later. */
import type { Database } from "better-sqlite3";
import { withdrawnReasonNow } from "../../domain/deliveries/given-up.js";
import type { OnlyPart, OutboxStore } from "../../domain/store.js";
import type { Connection } from "../connection.js";
import type { ConfirmedParts } from "./confirmed-parts.js";
import { asSent, markInDoubt, markNotSent, markSending, markSent, markUnwritten } from "./delivery-parts.js";
import { parseData, parseParts } from "./delivery-rows.js";
import { type DeliveryTable, notOpen } from "./delivery-table.js";
import type { PendingEnds } from "./pending-ends.js";

type Sending = Pick<OutboxStore, "partSending" | "partSent" | "retryAt" | "postpone">;

export function createSending(
  { database, write, commit }: Connection,
  table: DeliveryTable,
  confirmed: ConfirmedParts,
  addEnd: PendingEnds["addEnd"],
): Sending {
  const statements = prepareStatements(database);

  /** The delivery is sent with its only part. False when it is not being sent any more: its row has to be read. */
  const settleOnlyPart = (id: string, only: OnlyPart, messageId: string, at: number, hasHooks: boolean): boolean => {
    const sent = asSent(only.part, messageId);
    if (statements.setOnlySent.run(JSON.stringify([sent]), at, only.seq, id).changes === 0) return false;
    if (hasHooks) addEnd(id);
    confirmed.addPosted(only.seq, only.address, sent);
    return true;
  };

  return {
    partSending: (id, index, at) =>
      write(() => {
        const delivery = table.requireOpen(id);
        if (delivery.parts === null) notOpen(id, "corrected");
        const afterMs = at === undefined ? 0 : at - delivery.created_at;
        table.setParts(delivery.seq, markSending(parseParts(delivery), index, afterMs));
      }),
    partSent: (id, index, messageId, at, { nextWaits = false, hasHooks = false, only, lostFiles } = {}) =>
      commit(() => {
        if (only && settleOnlyPart(id, only, messageId, at, hasHooks)) return true;
        const delivery = table.find(id);
        const before = delivery ? parseParts(delivery) : [];
        const parts = markSent(before, index, messageId, lostFiles);
        // An operator settled the delivery meanwhile, or the part was confirmed twice: the platform's id is kept, the status is not
        // touched.
        if (!delivery || !parts) return delivery?.status === "sending" || delivery?.status === "sent";
        const sent = parts.filter((part) => part.index === index);
        for (const part of sent) confirmed.addPosted(delivery.seq, parseData(delivery).address, part);
        if (delivery.status === "sending") confirmed.advance(delivery, parts, at, { nextWaits, hasHooks });
        else {
          const reason = withdrawnReasonNow(delivery.reason, before, parts);
          statements.setEnded.run(JSON.stringify(parts), reason, delivery.seq);
          if (delivery.status === "sent") confirmed.addLinks(delivery, sent, at);
        }
        return delivery.status === "sending";
      }),
    retryAt: (id, dueAt, reason, { mayHaveArrived = false, isWait = false } = {}) =>
      write(() => {
        const record = table.findOpen(id);
        if (!record) return;
        const mark = mayHaveArrived ? markInDoubt : markNotSent;
        statements.retry.run(dueAt, reason, JSON.stringify(mark(parseParts(record))), isWait ? 1 : 0, record.seq);
      }),
    postpone: (id, dueAt, reason) =>
      write(() => {
        const record = table.findOpen(id);
        if (!record) return;
        statements.postpone.run(dueAt, reason, JSON.stringify(markUnwritten(parseParts(record))), record.seq);
      }),
  };
}

function prepareStatements(database: Database) {
  return {
    setEnded: database.prepare<[string, string | null, number]>(
      "UPDATE deliveries SET parts = ?, reason = ? WHERE seq = ?",
    ),
    setOnlySent: database.prepare<[string, number, number, string]>(
      `UPDATE deliveries SET status = 'sent', parts = ?, settled_at = ?, reason = CASE WHEN attempts > 0 THEN reason END
       WHERE seq = ? AND id = ? AND status = 'sending'`,
    ),
    retry: database.prepare<[number, string, string, number, number]>(
      "UPDATE deliveries SET due_at = ?, reason = ?, attempts = attempts + 1, parts = ?, waits = waits + ? WHERE seq = ?",
    ),
    postpone: database.prepare<[number, string, string, number]>(
      "UPDATE deliveries SET due_at = ?, reason = iif(attempts > 0, reason, ?), parts = ? WHERE seq = ?",
    ),
  };
}
