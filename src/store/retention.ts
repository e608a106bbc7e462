/**
 * Deletes rows that are too old or too many, a little at a time, so that messages never wait for it. Unfinished rows are never touched. An
 * event's key is remembered for `dedup_for` even when its row has to go.
 */
import type { Store } from "../domain/store.js";
import { DAY_MS } from "../lib/time/duration.js";
import type { Retention } from "./config.js";
import type { Connection } from "./connection.js";
import type { InboxSeen } from "./messages/inbox-seen.js";

/** Rows looked at in one transaction. */
const CHUNK = 500;
/** The action of an expired button is kept for this time, for a person who presses the button after all. */
const EXPIRED_TOKENS_MS = 7 * DAY_MS;

interface SweptTable {
  name: string;
  key: string;
  /** The time when a row was made: rises with the key. */
  made: string;
  /** The time when the row was settled; null = it must stay. */
  settled: string;
}

const INBOX: SweptTable = {
  name: "inbox",
  key: "id",
  made: "received_at",
  // A dead message waits for an operator.
  settled: "iif(status = 'dead', NULL, settled_at)",
};
const DELIVERIES: SweptTable = {
  name: "deliveries",
  key: "seq",
  made: "created_at",
  // A held or dead delivery waits for an operator.
  settled: "iif(status IN ('sent', 'suppressed', 'cancelled', 'superseded'), settled_at, NULL)",
};
const LINKS: SweptTable = { name: "links", key: "id", made: "at", settled: "at" };
const AUDIT: SweptTable = { name: "audit", key: "id", made: "at", settled: "at" };
const WEB_MESSAGES: SweptTable = { name: "web_messages", key: "id", made: "at", settled: "at" };

export function createSweep(connection: Connection, seen: InboxSeen, retention: Retention): Store["sweep"] {
  const sweepInbox = createTableSweep(connection, INBOX, (id, now) => seen.remember(id, now - retention.dedup_for));
  const sweepDeliveries = createTableSweep(connection, DELIVERIES);
  const sweepLinks = createTableSweep(connection, LINKS);
  const sweepAudit = createTableSweep(connection, AUDIT);
  const sweepWebMessages = createTableSweep(connection, WEB_MESSAGES);
  const sweepSeen = createExpiry(connection, "inbox_seen", "chat, event_id, bot, platform", "received_at");
  const sweepTokens = createExpiry(connection, "action_tokens", "token", "expires_at");
  const sweepPauses = createExpiry(connection, "pauses", "key", "until");

  return async (now) => ({
    inbox: await sweepInbox(now, retention.inbox_for, retention.inbox_rows),
    inbox_seen: await sweepSeen(now - retention.dedup_for),
    deliveries: await sweepDeliveries(now, retention.outbox_for, retention.outbox_rows),
    links: await sweepLinks(now, retention.outbox_for, retention.outbox_rows),
    audit: await sweepAudit(now, retention.audit_for, retention.audit_rows),
    web_messages: await sweepWebMessages(now, retention.web_chat_for, retention.web_chat_rows),
    action_tokens: await sweepTokens(now - EXPIRED_TOKENS_MS),
    pauses: await sweepPauses(now),
  });
}

/** Walks from the oldest row to the first that may stay, so that a sweep with nothing to do looks at one page. */
function createTableSweep(
  { database, read, write }: Connection,
  { name, key, made, settled }: SweptTable,
  onRemove?: (key: number, now: number) => void,
) {
  const count = database.prepare<[], { rows: number }>(`SELECT count(*) AS rows FROM ${name}`);
  const page = database.prepare<[number, number], { key: number; made: number; settled: number | null }>(
    `SELECT ${key} AS key, ${made} AS made, ${settled} AS settled FROM ${name} WHERE ${key} > ? ORDER BY ${key} LIMIT ?`,
  );
  const remove = database.prepare<[number]>(`DELETE FROM ${name} WHERE ${key} = ?`);

  /** Returns the rows that it found and changes nothing outside the database: a write may be run twice. */
  const removeSome = (afterKey: number, excess: number, before: number, now: number) => {
    let removed = 0;
    let last = afterKey;
    const rows = page.all(afterKey, CHUNK);
    for (const row of rows) {
      const isTooMuch = removed < excess;
      if (row.made >= before && !isTooMuch) return { removed, last, isDone: true };
      last = row.key;
      if (row.settled === null || (row.settled >= before && !isTooMuch)) continue;
      onRemove?.(row.key, now);
      remove.run(row.key);
      removed++;
    }
    return { removed, last, isDone: rows.length < CHUNK };
  };

  return async (now: number, keepForMs: number, maxRows: number): Promise<number> => {
    let excess = (await read(() => count.get()?.rows ?? 0)) - maxRows;
    let removed = 0;
    for (let afterKey = 0, isDone = false; !isDone; ) {
      const some = await write(() => removeSome(afterKey, excess, now - keepForMs, now));
      removed += some.removed;
      excess -= some.removed;
      afterKey = some.last;
      isDone = some.isDone;
    }
    return removed;
  };
}

/** Rows that are worth nothing after the time in `column`. These tables have no rowid, so rows go by their key. */
function createExpiry({ database, write }: Connection, table: string, key: string, column: string) {
  const remove = database.prepare<[number, number]>(
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${column} < ? LIMIT ?)`,
  );
  return async (before: number): Promise<number> => {
    let removed = 0;
    for (let some = CHUNK; some === CHUNK; removed += some) some = await write(() => remove.run(before, CHUNK).changes);
    return removed;
  };
}
