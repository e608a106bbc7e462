/** A delivery of the outbox ends, is withdrawn or corrected before it goes, or is sent after all. */
import type { Database } from "better-sqlite3";
import type { ConversationSight } from "../../domain/alerts/sla.js";
import { isUnanswered, isUnknownToUs, isUntold, withdrawnReason } from "../../domain/deliveries/given-up.js";
import { type DeliveryPart, type DeliveryStatus, isUnderWay, type OutboxStore } from "../../domain/store.js";
import type { Connection } from "../connection.js";
import type { ConfirmedParts } from "./confirmed-parts.js";
import { confirmAll, confirmSending, isUnsent, markUntried } from "./delivery-parts.js";
import { type DeliveryRecord, deliveryData, IS_OPEN, parseData, parseParts } from "./delivery-rows.js";
import type { DeliveryTable } from "./delivery-table.js";
import type { PendingEnds } from "./pending-ends.js";

type Ending = Pick<OutboxStore, "finish" | "withdraw" | "correct" | "cancelRest" | "release">;

export function createEnding(
  { database, write }: Connection,
  table: DeliveryTable,
  confirmed: ConfirmedParts,
  addEnd: PendingEnds["addEnd"],
  insertSight: (sight: ConversationSight) => void,
): Ending {
  const statements = prepareStatements(database);

  const cancel = (id: string, reason: string, at: number, hasHooks: boolean): void => {
    statements.finish.run("cancelled", reason, at, id, "cancelled");
    if (hasHooks) addEnd(id);
  };

  return {
    finish: (id, status, reason, at, hasHooks = false, sight) =>
      write(() => {
        if (statements.finish.run(status, reason, at, id, status).changes === 0) return;
        if (hasHooks) addEnd(id);
        if (sight) insertSight(sight);
      }),
    withdraw: (id, reason, at, hasHooks, besideSent = false) =>
      write(() => {
        const record = table.findOpen(id);
        if (!record) return false;
        if (besideSent ? parseParts(record).some(isInDoubt) : !isUntouched(record)) return false;
        cancel(id, reason, at, hasHooks);
        return true;
      }),
    correct: (id, { message, lostFiles }) =>
      write(() => {
        const record = table.find(id);
        const isHeld = record?.status === "held" && !mayHaveBeenSent(record);
        if (!record || (!isHeld && !isUnderWay(record))) return false;
        if (!isUntouched(record)) return false;
        statements.correct.run(JSON.stringify(message), deliveryData({ ...parseData(record), lostFiles }), record.seq);
        return true;
      }),
    cancelRest: (id, reason, at, hasHooks) =>
      write(() => {
        const record = table.findOpen(id);
        if (!record) return undefined;
        const parts = parseParts(record);
        const sent = parts.filter((part) => !isUnsent(part)).length;
        cancel(id, withdrawnReason(reason, parts), at, hasHooks);
        return { sent, parts: parts.length, isUnclear: parts.some(isUnanswered) };
      }),
    release: (id, at, { expiresAt, confirmed: isConfirmed = false, hasHooks = false, sight } = {}) =>
      write(() => {
        const record = table.find(id);
        if (record?.status !== "held" && record?.status !== "dead") return false;
        if (sight) insertSight(sight);
        const isFrozen = record.frozen !== null;
        const hasArrived = isConfirmed && mayHaveBeenSent(record);
        statements.release.run(isFrozen || hasArrived ? "sending" : "waiting", at, expiresAt ?? null, record.seq);
        const after = { nextWaits: true, hasHooks };
        if (hasArrived) confirmed.advance(record, confirmAll(parseParts(record)), at, after);
        else if (isFrozen && isConfirmed) confirmed.advance(record, confirmSending(parseParts(record)), at, after);
        else if (isFrozen) table.setParts(record.seq, markUntried(parseParts(record)));
        return true;
      }),
  };
}

const isInDoubt = (part: DeliveryPart) => isUnanswered(part) || isUnknownToUs(part);

/** No part was sent, is being sent or may have arrived. */
const isUntouched = (record: DeliveryRecord) =>
  !parseParts(record).some((part) => part.status !== "waiting" || part.mayHaveArrived);

/** The parts, and whether hooks decided about the delivery, are of no use then: the row does not show what happened to it. */
const mayHaveBeenSent = ({ status, reason }: DeliveryRecord) => status === "held" && isUntold(reason ?? undefined);

function prepareStatements(database: Database) {
  return {
    finish: database.prepare<[DeliveryStatus, string, number, string, DeliveryStatus]>(
      `UPDATE deliveries SET status = ?, reason = ?, settled_at = ?
       WHERE id = ? AND (${IS_OPEN} OR status = 'held' OR (status IN ('dead', 'superseded') AND ? IN ('superseded', 'cancelled')))`,
    ),
    correct: database.prepare<[string, string, number]>(
      `UPDATE deliveries SET message = ?, data = ?, frozen = NULL, parts = NULL, status = iif(status = 'held', 'held', 'waiting'),
         round = round + 1, asked = 0
       WHERE seq = ?`,
    ),
    release: database.prepare<[DeliveryStatus, number, number | null, number]>(
      `UPDATE deliveries SET status = ?, due_at = ?, attempts = 0, waits = 0, expires_at = ?, settled_at = NULL, reason = NULL,
         round = round + 1, asked = 0
       WHERE seq = ?`,
    ),
  };
}
