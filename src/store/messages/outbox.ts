/** The outbox: deliveries in order per conversation, with the frozen decision and the parts of each. */
import type { DeliveryStatus, OutboxStore } from "../../domain/store.js";
import type { Connection } from "../connection.js";
import type { GiveUp } from "../database-file/unreadable.js";
import type { AddPending } from "../pending.js";
import { createInsertSight } from "../sla/conversations.js";
import { ConfirmedParts } from "./confirmed-parts.js";
import { IS_OPEN } from "./delivery-rows.js";
import { DeliveryTable } from "./delivery-table.js";
import { createDeliveryLetters } from "./letters.js";
import type { AddDelivery } from "./new-deliveries.js";
import { createDeciding } from "./outbox-deciding.js";
import { createEnding } from "./outbox-ending.js";
import {
  createDeliveryCounts,
  createDeliveryLists,
  createDeliveryLookups,
  createQueueQueries,
} from "./outbox-queries.js";
import { createSending } from "./outbox-sending.js";
import { createPendingEnds } from "./pending-ends.js";

export function createOutbox(
  connection: Connection,
  addDelivery: AddDelivery,
  giveUp: GiveUp,
  addPending: AddPending,
): OutboxStore {
  const { database, write } = connection;
  const table = new DeliveryTable(database);
  const insertSight = createInsertSight(database);
  const { addEnd, isEndPending, endNotified } = createPendingEnds(connection, addPending);
  const confirmed = new ConfirmedParts(database, table, addEnd, insertSight);
  return {
    ...createQueueQueries(connection, giveUp),
    ...createDeliveryLookups(connection),
    ...createDeliveryLists(connection),
    ...createDeliveryCounts(connection, giveUp),
    ...createDeciding(connection, table),
    ...createSending(connection, table, confirmed, addEnd),
    ...createEnding(connection, table, confirmed, addEnd, insertSight),
    ...createShifts(connection),
    purge: createPurge(connection),
    letters: createDeliveryLetters(connection),
    isEndPending,
    endNotified,
    enqueue: (deliveries, at) => write(() => deliveries.map((delivery) => addDelivery(delivery, at))),
  };
}

/** Writes that change when open deliveries are due. */
function createShifts({ database, write }: Connection): Pick<OutboxStore, "shift" | "dueNow"> {
  const shift = database.prepare<[number, number, number]>(
    `UPDATE deliveries SET created_at = created_at + ?, due_at = due_at + ?, expires_at = expires_at + ? WHERE ${IS_OPEN}`,
  );
  const dueNow = database.prepare<[number, number, string, string, string]>(
    `UPDATE deliveries SET due_at = ? WHERE ${IS_OPEN} AND due_at > ?
     AND (conversation = ? OR substr(conversation, 1, length(?) + 1) = ? || ':')`,
  );
  return {
    shift: (stepMs) => write(() => void shift.run(stepMs, stepMs, stepMs)),
    dueNow: (key, at) => write(() => void dueNow.run(at, at, key, key, key)),
  };
}

/** Deletes deliveries that are not open, for an operator. */
function createPurge({ database, write }: Connection): OutboxStore["purge"] {
  const purgeId = database.prepare<[string]>(`DELETE FROM deliveries WHERE id = ? AND NOT ${IS_OPEN}`);
  const purgeIdWith = database.prepare<[string, DeliveryStatus]>(
    `DELETE FROM deliveries WHERE id = ? AND status = ? AND NOT ${IS_OPEN}`,
  );
  const purgeStatus = database.prepare<[DeliveryStatus]>(`DELETE FROM deliveries WHERE status = ? AND NOT ${IS_OPEN}`);
  const purgeAll = database.prepare(`DELETE FROM deliveries WHERE NOT ${IS_OPEN} AND status <> 'held'`);
  return ({ ids, status }) =>
    write(() => {
      if (ids === undefined) return (status === undefined ? purgeAll.run() : purgeStatus.run(status)).changes;
      let purged = 0;
      for (const id of ids) purged += (status === undefined ? purgeId.run(id) : purgeIdWith.run(id, status)).changes;
      return purged;
    });
}
