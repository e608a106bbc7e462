/** The inbox: every event that a platform delivered, once, in order of arrival. */
import type { Address } from "../../domain/chat/address.js";
import { addressOf, type InboundEvent } from "../../domain/chat/event.js";
import type { InboxRow, InboxStatus, InboxStore } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import type { Connection } from "../connection.js";
import type { GiveUp } from "../database-file/unreadable.js";
import type { AddPending } from "../pending.js";
import { parseEvent } from "../shapes.js";
import { createInsertSight } from "../sla/conversations.js";
import { UNREADABLE } from "./delivery-rows.js";
import type { InboxSeen } from "./inbox-seen.js";
import { createInboxLetters } from "./letters.js";
import type { AddDelivery } from "./new-deliveries.js";

interface InboxRecord {
  id: number;
  lane: string;
  status: InboxStatus;
  attempts: number;
  deferrals: number;
  round: number;
  due_at: number;
  received_at: number;
  settled_at: number | null;
  outcome: string | null;
  claimed_by: string | null;
  reason: string | null;
  error: string | null;
  delivery_ids: string | null;
  event: string;
  event_id: string;
  platform: string;
  bot: string;
  chat: string;
}

const SELECT = `SELECT id, lane, status, attempts, deferrals, round, due_at, received_at, settled_at, outcome, claimed_by, reason, error, delivery_ids, event,
    event_id, platform, bot, chat
  FROM inbox`;
type EventKey = [chat: string, eventId: string, bot: string, platform: string];

/** `giveUp`: rows that cannot be read. */
export function createInbox(
  connection: Connection,
  seen: InboxSeen,
  addDelivery: AddDelivery,
  giveUp: GiveUp["messages"],
  addPending: AddPending,
): InboxStore {
  const { database, read, write, commit } = connection;
  const insertSight = createInsertSight(database);
  const insert = database.prepare<[...EventKey, string, InboxStatus, number, number, number, string]>(
    `INSERT INTO inbox (chat, event_id, bot, platform, lane, status, attempts, due_at, received_at, event)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const known = database.prepare<EventKey, { id: number }>(
    "SELECT id FROM inbox WHERE chat = ? AND event_id = ? AND bot = ? AND platform = ?",
  );
  const start = database.prepare<[number], { attempts: number }>(
    "UPDATE inbox SET status = 'running', attempts = attempts + 1 WHERE id = ? AND settled_at IS NULL RETURNING attempts",
  );
  const settle = database.prepare<[number, string, string | null, string | null, string, number]>(
    `UPDATE inbox SET status = 'done', settled_at = ?, outcome = ?, claimed_by = ?, reason = ?, delivery_ids = ?, error = NULL
     WHERE id = ? AND settled_at IS NULL`,
  );
  const complete = database.prepare<[string | null, string, number]>(
    "UPDATE inbox SET reason = ?, delivery_ids = ? WHERE id = ? AND status = 'done'",
  );
  const defer = database.prepare<[number, string | null, number, number]>(
    `UPDATE inbox SET status = 'deferred', due_at = ?, error = ?, deferrals = deferrals + ?, round = round + 1
     WHERE id = ? AND settled_at IS NULL`,
  );
  const die = database.prepare<[string, number, number]>(
    "UPDATE inbox SET status = 'dead', error = ?, settled_at = ? WHERE id = ? AND settled_at IS NULL",
  );
  const shift = database.prepare<[number]>(
    "UPDATE inbox SET due_at = due_at + ? WHERE settled_at IS NULL AND status = 'deferred'",
  );
  const revive = database.prepare<[number, number]>(
    `UPDATE inbox SET status = 'waiting', attempts = 0, deferrals = 0, round = round + 1, due_at = ?, settled_at = NULL
     WHERE id = ? AND status = 'dead'`,
  );
  const correct = database.prepare<[string, number]>("UPDATE inbox SET event = ? WHERE id = ? AND status = 'dead'");
  const withdraw = database.prepare<[number, number]>(
    "UPDATE inbox SET status = 'done', outcome = 'deleted', delivery_ids = '', settled_at = ? WHERE id = ? AND status = 'dead'",
  );
  const discard = database.prepare<[number]>("DELETE FROM inbox WHERE id = ? AND status = 'dead'");
  // Without INDEXED BY the planner walks the whole table in order of id, past all settled rows.
  const unfinished = database.prepare<[number, number], InboxRecord>(
    `${SELECT} WHERE id IN (
       SELECT id FROM inbox INDEXED BY inbox_open WHERE settled_at IS NULL AND id > ? ORDER BY id LIMIT ?
     ) ORDER BY id`,
  );
  const lane = database.prepare<[string, number, number], InboxRecord>(
    `${SELECT} INDEXED BY inbox_open WHERE settled_at IS NULL AND lane = ? AND id > ? ORDER BY id LIMIT ?`,
  );
  // AUTOINCREMENT keeps the number when the rows are deleted: https://www.sqlite.org/autoinc.html
  const lastId = database.prepare<[], { id: number }>("SELECT seq AS id FROM sqlite_sequence WHERE name = 'inbox'");
  const byId = database.prepare<[number], InboxRecord>(`${SELECT} WHERE id = ?`);
  const byEvent = database.prepare<EventKey, InboxRecord>(
    `${SELECT} WHERE chat = ? AND event_id = ? AND bot = ? AND platform = ?`,
  );
  // `;` follows `:`. domain/chat/event.ts describes the ids.
  const changes = database.prepare<[...EventKey, string, string, string, string], InboxRecord>(
    `${SELECT} WHERE chat = ? AND (event_id = ? OR (event_id > ? AND event_id < ?) OR (event_id > ? AND event_id < ?)) AND bot = ? AND platform = ? ORDER BY id`,
  );
  const byEventAnywhere = database.prepare<[string], InboxRecord>(`${SELECT} WHERE event_id = ? ORDER BY id`);
  const newest = database.prepare<[number, number], InboxRecord>(`${SELECT} WHERE id < ? ORDER BY id DESC LIMIT ?`);
  // The index of a lane has its ids in order.
  const newestInLane = database.prepare<[string, number, number], InboxRecord>(
    `${SELECT} INDEXED BY inbox_lane WHERE lane = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  );
  const newestDone = database.prepare<[number, number], InboxRecord>(
    `${SELECT} WHERE status = 'done' AND id < ? ORDER BY id DESC LIMIT ?`,
  );
  const newestDead = database.prepare<[number, number], InboxRecord>(
    `${SELECT} INDEXED BY inbox_dead WHERE status = 'dead' AND id < ? ORDER BY id DESC LIMIT ?`,
  );
  const newestOpen = database.prepare<[string, number, number], InboxRecord>(
    `${SELECT} INDEXED BY inbox_open WHERE settled_at IS NULL AND status = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  );
  const countOpen = database.prepare<[], { status: InboxStatus; rows: number }>(
    "SELECT status, count(*) AS rows FROM inbox INDEXED BY inbox_open WHERE settled_at IS NULL GROUP BY status",
  );
  const longestLane = database.prepare<[], { lane: string; rows: number }>(
    "SELECT lane, count(*) AS rows FROM inbox INDEXED BY inbox_open WHERE settled_at IS NULL GROUP BY lane ORDER BY rows DESC LIMIT 1",
  );
  const countDead = database.prepare<[], { rows: number }>("SELECT count(*) AS rows FROM inbox WHERE status = 'dead'");
  const countAll = database.prepare<[], { rows: number }>("SELECT count(*) AS rows FROM inbox");

  /** Rows that cannot be read become dead letters, and the rows behind them go on. */
  const toHandle = async (select: () => InboxRecord[]): Promise<InboxRow[]> => {
    for (;;) {
      const unreadable: number[] = [];
      const rows = await read(() =>
        select().flatMap((record) => {
          try {
            return [toRow(record)];
          } catch {
            unreadable.push(record.id);
            return [];
          }
        }),
      );
      if (unreadable.length === 0) return rows;
      // Asked again, so that a full page stays full: a caller takes a short page for the last.
      await giveUp(unreadable);
    }
  };

  return {
    accept(event, laneName, receivedAt, started, settled) {
      const { platform, botId, chatId } = addressOf(event);
      const json = JSON.stringify(event);
      return commit(() => {
        // Asked before the insert: AUTOINCREMENT uses up a number also for a row that conflicts, and people would miss that message.
        const before = seen.find(event) ?? known.get(chatId, event.eventId, botId, platform)?.id;
        if (before !== undefined) return { id: before, duplicate: true };
        const status = started ? "running" : "waiting";
        const attempts = started ? 1 : 0;
        const added = insert.run(
          chatId,
          event.eventId,
          botId,
          platform,
          laneName,
          status,
          attempts,
          receivedAt,
          receivedAt,
          json,
        );
        const id = Number(added.lastInsertRowid);
        if (settled) {
          const { outcome, reason, deliveries } = settled(id);
          settle.run(receivedAt, outcome, null, reason ?? null, deliveries.map((one) => one.id).join(" "), id);
          for (const delivery of deliveries) addDelivery(delivery, receivedAt);
        }
        return { id, duplicate: false };
      });
    },
    start: (id) => commit(() => start.get(id)?.attempts ?? noSuchRow(id)),
    settle: (id, { outcome, claimedBy, reason, deliveries, decided, asked, sights, pending }, at) =>
      commit(() => {
        const ids = deliveries.map((one) => one.id).join(" ");
        if (settle.run(at, outcome, claimedBy ?? null, reason ?? null, ids, id).changes === 0) return undefined;
        const seqs = deliveries.map((delivery) => addDelivery(delivery, at, asked, decided));
        for (const sight of sights ?? []) insertSight(sight);
        if (pending) addPending(pending);
        return seqs;
      }),
    complete: (id, { reason, deliveries }, at) =>
      write(() => {
        const ids = deliveries.map((one) => one.id).join(" ");
        if (complete.run(reason ?? null, ids, id).changes === 0) return;
        for (const delivery of deliveries) addDelivery(delivery, at);
      }),
    defer: (id, dueAt, error) => write(() => void defer.run(dueAt, error ?? null, error === undefined ? 1 : 0, id)),
    shift: (stepMs) => write(() => void shift.run(stepMs)),
    dead: (id, error, at, note) =>
      write(() => {
        if (die.run(error, at, id).changes > 0 && note) addDelivery(note, at);
      }),
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
    unfinished: (afterId, limit) => toHandle(() => unfinished.all(afterId, limit)),
    lane: (name, afterId, limit) => toHandle(() => lane.all(name, afterId, limit)),
    get: (id) => read(() => optionalRow(byId.get(id))),
    lastId: () => read(() => lastId.get()?.id ?? 0),
    find: ({ chatId, botId, platform }: Address, eventId) =>
      read(() => optionalRow(byEvent.get(chatId, eventId, botId, platform))),
    formerId: (at, eventId) => read(() => seen.idOf(at, eventId)),
    changesOf: ({ chatId, botId, platform }: Address, id) =>
      read(() => {
        const [edits, reactions] = [
          [`edit:${id}:`, `edit:${id};`] as const,
          [`reaction:${id}:`, `reaction:${id};`] as const,
        ];
        return changes.all(chatId, `delete:${id}`, ...edits, ...reactions, botId, platform).map(shownRow);
      }),
    findAll: (eventId) => read(() => byEventAnywhere.all(eventId).map(shownRow)),
    list: ({ status, lane: name, before = Number.MAX_SAFE_INTEGER, limit }) =>
      read(() => {
        if (name !== undefined) return newestInLane.all(name, before, limit).map(shownRow);
        if (status === undefined) return newest.all(before, limit).map(shownRow);
        if (status === "done") return newestDone.all(before, limit).map(shownRow);
        if (status === "dead") return newestDead.all(before, limit).map(shownRow);
        return newestOpen.all(status, before, limit).map(shownRow);
      }),
    letters: createInboxLetters(connection),
    longestLane: () => read(() => longestLane.get()),
    counts: () =>
      read(() => {
        const counts = { waiting: 0, running: 0, deferred: 0, done: 0, dead: countDead.get()?.rows ?? 0 };
        let open = 0;
        for (const { status, rows } of countOpen.all()) {
          counts[status] = rows;
          open += rows;
        }
        counts.done = (countAll.get()?.rows ?? 0) - open - counts.dead;
        return counts;
      }),
  };
}

function noSuchRow(id: number): never {
  throw new HookgateError({ code: "STORE_FAILED", message: `inbox row ${id} is settled or gone` });
}

function optionalRow(record: InboxRecord | undefined): InboxRow | undefined {
  return record && shownRow(record);
}

/** The view of a row that cannot be read, for an operator: enough to delete it. */
function shownRow(record: InboxRecord): InboxRow {
  try {
    return toRow(record);
  } catch {
    return { ...rowOf(record, remainsOf(record)), isUnreadable: true };
  }
}

function remainsOf({ event_id: eventId, platform, bot: botId, chat: chatId, received_at }: InboxRecord): InboundEvent {
  const facts = { attachments: [], isDm: false, isGroupMention: false, isEdit: false };
  return {
    kind: "message",
    eventId,
    message: {
      platform,
      botId,
      chatId,
      userId: "",
      text: UNREADABLE,
      messageId: eventId,
      receivedAt: received_at,
      ...facts,
    },
  };
}

/** Throws when the row cannot be read. */
function toRow(record: InboxRecord): InboxRow {
  return rowOf(record, parseEvent(record.event));
}

function rowOf(record: InboxRecord, event: InboundEvent): InboxRow {
  return {
    id: record.id,
    lane: record.lane,
    event,
    status: record.status,
    attempts: record.attempts,
    deferrals: record.deferrals,
    round: record.round,
    dueAt: record.due_at,
    receivedAt: record.received_at,
    settledAt: record.settled_at ?? undefined,
    outcome: record.outcome ?? undefined,
    claimedBy: record.claimed_by ?? undefined,
    reason: record.reason ?? undefined,
    error: record.error ?? undefined,
    deliveryIds: record.delivery_ids === null ? undefined : record.delivery_ids.split(" ").filter(Boolean),
  };
}
