/**
 * Rows whose JSON is damaged or has another shape (a disk's fault, a change of the file by hand). Such a row must not keep the gateway from
 * starting, nor hold up the rows behind it. Messages and deliveries become dead letters, which an operator can look at and delete; rows of
 * other tables are moved to a table of their own.
 */
import { MAY_HAVE_BEEN_SENT } from "../../domain/deliveries/letters.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";
import type { Connection } from "../connection.js";
import {
  DELIVERY_COLUMNS,
  type DeliveryRecord,
  IS_LOST,
  IS_OPEN,
  toDelivery,
  UNREADABLE,
} from "../messages/delivery-rows.js";
import { parseEvent } from "../shapes.js";
import type { Damage } from "./damage.js";

/** Ends rows that cannot be read as dead letters, and logs them. */
export interface GiveUp {
  messages(ids: readonly number[]): Promise<void>;
  deliveries(ids: readonly string[]): Promise<void>;
  /** All deliveries with a status that does not exist: they are held, because they may have been sent. Resolves with their number. */
  lostDeliveries(): Promise<number>;
}

export function createGiveUp({ database, write }: Connection, clock: Clock, logger: Logger): GiveUp {
  const message = database.prepare<[string, number, number]>(
    "UPDATE inbox SET status = 'dead', error = ?, settled_at = ? WHERE id = ? AND settled_at IS NULL",
  );
  const delivery = database.prepare<[string, number, string]>(
    `UPDATE deliveries SET status = 'dead', reason = ?, settled_at = ? WHERE id = ? AND ${IS_OPEN}`,
  );
  // Without INDEXED BY the planner may walk all that was sent.
  const lost = database.prepare<[], { id: string; status: unknown }>(
    `SELECT id, status FROM deliveries INDEXED BY deliveries_exceptions WHERE ${IS_LOST}`,
  );
  const endLost = database.prepare<[string, number, string]>(
    `UPDATE deliveries SET status = 'held', reason = ?, settled_at = ? WHERE id = ? AND ${IS_LOST}`,
  );
  return {
    async messages(ids) {
      const now = clock.now();
      await write(() => {
        for (const id of ids) message.run(UNREADABLE, now, id);
      });
      for (const id of ids)
        logger.error({ inbox: id, hint: hint(`m${id}`) }, `an inbox message was given up: ${UNREADABLE}`);
    },
    async deliveries(ids) {
      const now = clock.now();
      await write(() => {
        for (const id of ids) delivery.run(UNREADABLE, now, id);
      });
      for (const id of ids) logger.error({ delivery: id, hint: hint(id) }, `a delivery was given up: ${UNREADABLE}`);
    },
    async lostDeliveries() {
      const now = clock.now();
      const found = await write(() => {
        const rows = lost.all().map(({ id, status }) => ({ id, reason: lostReason(status) }));
        for (const { id, reason } of rows) endLost.run(reason, now, id);
        return rows;
      });
      for (const { id, reason } of found)
        logger.error({ delivery: id, hint: lostHint(id) }, `a delivery is held: ${reason}`);
      return found.length;
    },
  };
}

const hint = (id: string) => `\`/outbox show ${id}\` shows what is left of it, and \`/outbox purge ${id}\` deletes it.`;

const lostReason = (status: unknown) =>
  `${MAY_HAVE_BEEN_SENT}: its row in the database is damaged: its status is ${JSON.stringify(String(status))}, which does not exist`;

const lostHint = (id: string) =>
  `\`/outbox show ${id}\` shows it. \`/outbox release ${id}\` asks whether it arrived, and \`/outbox purge ${id}\` deletes it.`;

/** Ends the unreadable rows that a start finds. */
export async function endUnreadable(connection: Connection, giveUp: GiveUp, damage: Damage): Promise<void> {
  const { database, read } = connection;
  const messages = database.prepare<[], { id: number; event: string }>(
    "SELECT id, event FROM inbox INDEXED BY inbox_open WHERE settled_at IS NULL",
  );
  const deliveries = database.prepare<[], DeliveryRecord>(
    `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${IS_OPEN}`,
  );
  const found = await read(() => ({
    messages: unreadableOf(messages.iterate(), ({ event }) => parseEvent(event)).map(({ id }) => id),
    deliveries: unreadableOf(deliveries.iterate(), toDelivery).map(({ id }) => id),
  }));
  if (found.messages.length > 0) await giveUp.messages(found.messages);
  if (found.deliveries.length > 0) await giveUp.deliveries(found.deliveries);
  await giveUp.lostDeliveries();
  await moveUnreadable(connection, damage);
}

function unreadableOf<Row>(rows: Iterable<Row>, read: (row: Row) => unknown): Row[] {
  const found: Row[] = [];
  for (const row of rows)
    try {
      read(row);
    } catch {
      found.push(row);
    }
  return found;
}

/** The rules for a column of JSON, and for the fields of an object in it. */
interface Shape {
  table: string;
  /** Names a row. */
  key: readonly string[];
  column: string;
  /** `flag`: no JSON, but 0 or 1. */
  type: "object" | "array" | "flag";
  texts?: readonly string[];
}

const SHAPES: readonly Shape[] = [
  // Without the row, the hook is as it was configured: a guard does not stay off because of damage.
  { table: "hook_switches", key: ["hook_id"], column: "enabled", type: "flag" },
  { table: "pending", key: ["id"], column: "payload", type: "object" },
  { table: "tasks", key: ["id"], column: "data", type: "object", texts: ["id", "status", "assignTo"] },
  { table: "task_events", key: ["id"], column: "data", type: "object", texts: ["id", "taskId"] },
  { table: "missions", key: ["id"], column: "data", type: "object", texts: ["id", "planId", "status"] },
  { table: "missions", key: ["id"], column: "report", type: "object" },
  { table: "schedules", key: ["id"], column: "data", type: "object", texts: ["id", "planId", "expression"] },
  { table: "assessments", key: ["task_id", "attempt"], column: "data", type: "object" },
  { table: "assessments_passed", key: ["task_id", "attempt", "point"], column: "payload", type: "object" },
  { table: "alerts", key: ["id"], column: "data", type: "object", texts: ["id", "fingerprint", "state"] },
  { table: "alert_history", key: ["seq"], column: "actor", type: "object" },
  { table: "alert_notices", key: ["id"], column: "words", type: "object" },
  { table: "alert_notices", key: ["id"], column: "mentions", type: "array" },
  { table: "alert_silences", key: ["id"], column: "matchers", type: "array" },
  { table: "alert_silences", key: ["id"], column: "by", type: "object" },
  { table: "sla_clocks", key: ["id"], column: "data", type: "object" },
  { table: "sla_announcements", key: ["id"], column: "signal", type: "object" },
  { table: "sla_announcements", key: ["id"], column: "news", type: "object" },
  { table: "sla_sights", key: ["id"], column: "data", type: "object", texts: ["id"] },
  { table: "sla_cases", key: ["id"], column: "data", type: "object", texts: ["id", "conversation"] },
];

/** The unreadable rows stay in the file, so that an operator can repair them by hand. */
async function moveUnreadable({ database, write }: Connection, damage: Damage): Promise<void> {
  const moved = await write(() => SHAPES.flatMap((shape) => moveRows(database, shape)));
  for (const { table, name } of moved)
    damage.remark(
      `the row ${name} of the table ${table} is damaged and cannot be read: it was moved to the table unreadable_rows, and Hookgate continues without it`,
    );
}

function moveRows(
  database: Connection["database"],
  { table, key, column, type, texts = [] }: Shape,
): { table: string; name: string }[] {
  const isText = texts.map((one) => ` AND json_type("${column}", '$.${one}') = 'text'`).join("");
  const isWhole =
    type === "flag"
      ? `"${column}" IN (0, 1)`
      : `ifnull(iif(json_valid("${column}"), json_type("${column}") = '${type}'${isText}, 0), 0)`;
  const name = key.join(" || ' ' || ");
  const damaged = database
    .prepare<[], { name: string; content: string }>(
      `SELECT ${name} AS name, "${column}" AS content FROM ${table} WHERE "${column}" IS NOT NULL AND NOT ${isWhole}`,
    )
    .all();
  if (damaged.length === 0) return [];
  database.exec('CREATE TABLE IF NOT EXISTS unreadable_rows ("table" TEXT, name TEXT, "column" TEXT, content TEXT)');
  const keep = database.prepare<string[]>("INSERT INTO unreadable_rows VALUES (?, ?, ?, ?)");
  const remove = database.prepare<[string]>(`DELETE FROM ${table} WHERE ${name} = ?`);
  return damaged.map((row) => {
    keep.run(table, String(row.name), column, String(row.content));
    remove.run(String(row.name));
    return { table, name: String(row.name) };
  });
}

/** Only the rows that can be read. */
export function readable<Row, T>(rows: readonly Row[], read: (row: Row) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)];
    } catch {
      return []; // damaged: the start that finds it reports it
    }
  });
}
