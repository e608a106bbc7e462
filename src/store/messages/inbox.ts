/** The inbox: every event that a platform delivered, once, in order of arrival. */
import type { Database } from "better-sqlite3";
import { addressOf } from "../../domain/chat/event.js";
import type { InboxStatus, InboxStore, NewDelivery } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import type { Connection } from "../connection.js";
import type { GiveUp } from "../database-file/unreadable.js";
import type { AddPending } from "../pending.js";
import { createInsertSight } from "../sla/conversations.js";
import { createInboxLists, createInboxLookups, createUnfinished } from "./inbox-queries.js";
import { type EventKey, type InboxRecord, SELECT_INBOX } from "./inbox-rows.js";
import type { InboxSeen } from "./inbox-seen.js";
import { createInboxLetters } from "./letters.js";
import type { AddDelivery } from "./new-deliveries.js";

type Handling = Pick<InboxStore, "accept" | "start" | "settle" | "complete" | "defer" | "shift" | "dead">;
type DeadRows = Pick<InboxStore, "revive" | "correct" | "withdraw" | "discard" | "letters">;

/** `giveUp`: rows that cannot be read. */
export function createInbox(
  connection: Connection,
  seen: InboxSeen,
  addDelivery: AddDelivery,
  giveUp: GiveUp["messages"],
  addPending: AddPending,
): InboxStore {
  return {
    ...createHandling(connection, seen, addDelivery, addPending),
    ...createDeadRows(connection, seen),
    ...createUnfinished(connection, giveUp),
    ...createInboxLookups(connection, seen),
    ...createInboxLists(connection),
  };
}

/** From the arrival of an event until it is settled or dead. */
function createHandling(
  { database, write, commit }: Connection,
  seen: InboxSeen,
  addDelivery: AddDelivery,
  addPending: AddPending,
): Handling {
  const statements = prepareHandling(database);
  const insertSight = createInsertSight(database);
  return {
    accept(event, lane, receivedAt, started, settled) {
      const { platform, botId, chatId } = addressOf(event);
      const key: EventKey = [chatId, event.eventId, botId, platform];
      const json = JSON.stringify(event);
      return commit(() => {
        // Asked before the insert: AUTOINCREMENT uses up a number also for a row that conflicts, and people would miss that message.
        const before = seen.find(event) ?? statements.known.get(...key)?.id;
        if (before !== undefined) return { id: before, duplicate: true };
        const [status, attempts] = started ? (["running", 1] as const) : (["waiting", 0] as const);
        const added = statements.insert.run(...key, lane, status, attempts, receivedAt, receivedAt, json);
        const id = Number(added.lastInsertRowid);
        if (settled) {
          const { outcome, reason, deliveries } = settled(id);
          statements.settle.run(receivedAt, outcome, null, reason ?? null, idsOf(deliveries), id);
          for (const delivery of deliveries) addDelivery(delivery, receivedAt);
        }
        return { id, duplicate: false };
      });
    },
    start: (id) => commit(() => statements.start.get(id)?.attempts ?? noSuchRow(id)),
    settle: (id, { outcome, claimedBy, reason, deliveries, decided, asked, sights, pending }, at) =>
      commit(() => {
        const ids = idsOf(deliveries);
        if (statements.settle.run(at, outcome, claimedBy ?? null, reason ?? null, ids, id).changes === 0)
          return undefined;
        const seqs = deliveries.map((delivery) => addDelivery(delivery, at, asked, decided));
        for (const sight of sights ?? []) insertSight(sight);
        if (pending) addPending(pending);
        return seqs;
      }),
    complete: (id, { reason, deliveries }, at) =>
      write(() => {
        if (statements.complete.run(reason ?? null, idsOf(deliveries), id).changes === 0) return;
        for (const delivery of deliveries) addDelivery(delivery, at);
      }),
    defer: (id, dueAt, error) =>
      write(() => void statements.defer.run(dueAt, error ?? null, error === undefined ? 1 : 0, id)),
    shift: (stepMs) => write(() => void statements.shift.run(stepMs)),
    dead: (id, error, at, note) =>
      write(() => {
        if (statements.die.run(error, at, id).changes > 0 && note) addDelivery(note, at);
      }),
  };
}

const idsOf = (deliveries: readonly NewDelivery[]): string => deliveries.map((one) => one.id).join(" ");

function noSuchRow(id: number): never {
  throw new HookgateError({ code: "STORE_FAILED", message: `inbox row ${id} is settled or gone` });
}

function prepareHandling(database: Database) {
  return {
    insert: database.prepare<[...EventKey, string, InboxStatus, number, number, number, string]>(
      `INSERT INTO inbox (chat, event_id, bot, platform, lane, status, attempts, due_at, received_at, event)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    known: database.prepare<EventKey, { id: number }>(
      "SELECT id FROM inbox WHERE chat = ? AND event_id = ? AND bot = ? AND platform = ?",
    ),
    start: database.prepare<[number], { attempts: number }>(
      "UPDATE inbox SET status = 'running', attempts = attempts + 1 WHERE id = ? AND settled_at IS NULL RETURNING attempts",
    ),
    settle: database.prepare<[number, string, string | null, string | null, string, number]>(
      `UPDATE inbox SET status = 'done', settled_at = ?, outcome = ?, claimed_by = ?, reason = ?, delivery_ids = ?, error = NULL
       WHERE id = ? AND settled_at IS NULL`,
    ),
    complete: database.prepare<[string | null, string, number]>(
      "UPDATE inbox SET reason = ?, delivery_ids = ? WHERE id = ? AND status = 'done'",
    ),
    defer: database.prepare<[number, string | null, number, number]>(
      `UPDATE inbox SET status = 'deferred', due_at = ?, error = ?, deferrals = deferrals + ?, round = round + 1
       WHERE id = ? AND settled_at IS NULL`,
    ),
    shift: database.prepare<[number]>(
      "UPDATE inbox SET due_at = due_at + ? WHERE settled_at IS NULL AND status = 'deferred'",
    ),
    die: database.prepare<[string, number, number]>(
      "UPDATE inbox SET status = 'dead', error = ?, settled_at = ? WHERE id = ? AND settled_at IS NULL",
    ),
  };
}

/** Changes of dead rows, by an operator or by the author of the message. */
function createDeadRows(connection: Connection, seen: InboxSeen): DeadRows {
  const { database, write } = connection;
  const revive = database.prepare<[number, number]>(
    `UPDATE inbox SET status = 'waiting', attempts = 0, deferrals = 0, round = round + 1, due_at = ?, settled_at = NULL
     WHERE id = ? AND status = 'dead'`,
  );
  const correct = database.prepare<[string, number]>("UPDATE inbox SET event = ? WHERE id = ? AND status = 'dead'");
  const withdraw = database.prepare<[number, number]>(
    "UPDATE inbox SET status = 'done', outcome = 'deleted', delivery_ids = '', settled_at = ? WHERE id = ? AND status = 'dead'",
  );
  const discard = database.prepare<[number]>("DELETE FROM inbox WHERE id = ? AND status = 'dead'");
  const byId = database.prepare<[number], InboxRecord>(`${SELECT_INBOX} WHERE id = ?`);
  return {
    revive: (id, at) => write(() => revive.run(at, id).changes > 0),
    correct: (id, event) => write(() => correct.run(JSON.stringify(event), id).changes > 0),
    withdraw: (id, at) => write(() => withdraw.run(at, id).changes > 0),
    discard: (ids) =>
      write(() => {
        const discarded: number[] = [];
        for (const id of ids) {
          if (byId.get(id)?.status !== "dead") continue;
          seen.remember(id, 0);
          if (discard.run(id).changes > 0) discarded.push(id);
        }
        return discarded;
      }),
    letters: createInboxLetters(connection),
  };
}
