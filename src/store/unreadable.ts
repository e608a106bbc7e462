/**
 * Rows whose JSON is damaged (a disk's fault, a hand in the file). One of them must not keep the gateway from starting, nor hold up
 * the rows behind it: at a start those that are still open are ended as dead, and whoever lists rows goes on with the next.
 */
import type { Logger } from "../lib/logger.js";
import type { Connection } from "./connection.js";
import { IS_OPEN } from "./delivery-rows.js";

const REASON = "its row in the database is damaged and cannot be read";

export async function endUnreadable({ database, write }: Connection, now: number, logger: Logger): Promise<void> {
  const messages = database.prepare<[string, number], { id: number }>(
    `UPDATE inbox SET status = 'dead', error = ?, settled_at = ?
     WHERE settled_at IS NULL AND NOT json_valid(event) RETURNING id`,
  );
  // What is left of the parts would fail the deletion of the row, which looks into them.
  const deliveries = database.prepare<[string, number], { id: string }>(
    `UPDATE deliveries SET status = 'dead', reason = ?, settled_at = ?, parts = iif(json_valid(parts), parts, NULL)
     WHERE ${IS_OPEN} AND NOT (
       json_valid(data) AND ifnull(json_valid(message), 1) AND ifnull(json_valid(parts), 1)
       AND (frozen IS NULL OR frozen = '' OR json_valid(frozen))) RETURNING id`,
  );
  const ended = await write(() => ({ messages: messages.all(REASON, now), deliveries: deliveries.all(REASON, now) }));
  for (const { id } of ended.messages) logger.error({ inbox: id }, `an inbox message was given up: ${REASON}`);
  for (const { id } of ended.deliveries) logger.error({ delivery: id }, `a delivery was given up: ${REASON}`);
}

/** Those that can be read. */
export function readable<Row, T>(rows: readonly Row[], read: (row: Row) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)];
    } catch {
      return []; // damaged: said in the log at the start that found it
    }
  });
}
