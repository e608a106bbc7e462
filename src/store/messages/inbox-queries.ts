/** The queries of the inbox: rows that wait to be handled, rows that people ask for, and how many there are. */
import type { Database } from "better-sqlite3";
import type { Address } from "../../domain/chat/address.js";
import type { InboxRow, InboxStatus, InboxStore } from "../../domain/store.js";
import type { Connection } from "../connection.js";
import type { GiveUp } from "../database-file/unreadable.js";
import { type EventKey, type InboxRecord, SELECT_INBOX, shownRow, toRow } from "./inbox-rows.js";
import type { InboxSeen } from "./inbox-seen.js";

type Lookups = Pick<InboxStore, "get" | "lastId" | "find" | "formerId" | "changesOf" | "findAll">;

/** Rows to handle. `giveUp`: rows that cannot be read. */
export function createUnfinished(
  { database, read }: Connection,
  giveUp: GiveUp["messages"],
): Pick<InboxStore, "unfinished" | "lane"> {
  // Without INDEXED BY the planner walks the whole table in order of id, past all settled rows.
  const unfinished = database.prepare<[number, number], InboxRecord>(
    `${SELECT_INBOX} WHERE id IN (
       SELECT id FROM inbox INDEXED BY inbox_open WHERE settled_at IS NULL AND id > ? ORDER BY id LIMIT ?
     ) ORDER BY id`,
  );
  const lane = database.prepare<[string, number, number], InboxRecord>(
    `${SELECT_INBOX} INDEXED BY inbox_open WHERE settled_at IS NULL AND lane = ? AND id > ? ORDER BY id LIMIT ?`,
  );

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
    unfinished: (afterId, limit) => toHandle(() => unfinished.all(afterId, limit)),
    lane: (name, afterId, limit) => toHandle(() => lane.all(name, afterId, limit)),
  };
}

/** Rows by their ids, and by the ids of their platform. */
export function createInboxLookups({ database, read }: Connection, seen: InboxSeen): Lookups {
  // AUTOINCREMENT keeps the number when the rows are deleted: https://www.sqlite.org/autoinc.html
  const lastId = database.prepare<[], { id: number }>("SELECT seq AS id FROM sqlite_sequence WHERE name = 'inbox'");
  const byId = database.prepare<[number], InboxRecord>(`${SELECT_INBOX} WHERE id = ?`);
  const byEvent = database.prepare<EventKey, InboxRecord>(
    `${SELECT_INBOX} WHERE chat = ? AND event_id = ? AND bot = ? AND platform = ?`,
  );
  // `;` follows `:`. domain/chat/event.ts describes the ids.
  const changes = database.prepare<[...EventKey, string, string, string, string], InboxRecord>(
    `${SELECT_INBOX} WHERE chat = ? AND (event_id = ? OR (event_id > ? AND event_id < ?) OR (event_id > ? AND event_id < ?)) AND bot = ? AND platform = ? ORDER BY id`,
  );
  const byEventAnywhere = database.prepare<[string], InboxRecord>(`${SELECT_INBOX} WHERE event_id = ? ORDER BY id`);
  return {
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
  };
}

/** The lists for operators, and the numbers of rows. */
export function createInboxLists({ database, read }: Connection): Pick<InboxStore, "list" | "longestLane" | "counts"> {
  const newestRows = prepareNewest(database);
  const longestLane = database.prepare<[], { lane: string; rows: number }>(
    "SELECT lane, count(*) AS rows FROM inbox INDEXED BY inbox_open WHERE settled_at IS NULL GROUP BY lane ORDER BY rows DESC LIMIT 1",
  );
  const countOpen = database.prepare<[], { status: InboxStatus; rows: number }>(
    "SELECT status, count(*) AS rows FROM inbox INDEXED BY inbox_open WHERE settled_at IS NULL GROUP BY status",
  );
  const countDead = database.prepare<[], { rows: number }>("SELECT count(*) AS rows FROM inbox WHERE status = 'dead'");
  const countAll = database.prepare<[], { rows: number }>("SELECT count(*) AS rows FROM inbox");
  return {
    list: ({ status, lane, before = Number.MAX_SAFE_INTEGER, limit }) =>
      read(() => {
        if (lane !== undefined) return newestRows.inLane.all(lane, before, limit).map(shownRow);
        if (status === undefined) return newestRows.any.all(before, limit).map(shownRow);
        if (status === "done") return newestRows.done.all(before, limit).map(shownRow);
        if (status === "dead") return newestRows.dead.all(before, limit).map(shownRow);
        return newestRows.open.all(status, before, limit).map(shownRow);
      }),
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

function prepareNewest(database: Database) {
  return {
    any: database.prepare<[number, number], InboxRecord>(`${SELECT_INBOX} WHERE id < ? ORDER BY id DESC LIMIT ?`),
    // The index of a lane has its ids in order.
    inLane: database.prepare<[string, number, number], InboxRecord>(
      `${SELECT_INBOX} INDEXED BY inbox_lane WHERE lane = ? AND id < ? ORDER BY id DESC LIMIT ?`,
    ),
    done: database.prepare<[number, number], InboxRecord>(
      `${SELECT_INBOX} WHERE status = 'done' AND id < ? ORDER BY id DESC LIMIT ?`,
    ),
    dead: database.prepare<[number, number], InboxRecord>(
      `${SELECT_INBOX} INDEXED BY inbox_dead WHERE status = 'dead' AND id < ? ORDER BY id DESC LIMIT ?`,
    ),
    open: database.prepare<[string, number, number], InboxRecord>(
      `${SELECT_INBOX} INDEXED BY inbox_open WHERE settled_at IS NULL AND status = ? AND id < ? ORDER BY id DESC LIMIT ?`,
    ),
  };
}

function optionalRow(record: InboxRecord | undefined): InboxRow | undefined {
  return record && shownRow(record);
}
