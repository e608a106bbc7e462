/** The sights of conversations until they were processed, and the cases that resulted from them. */
import type { Database } from "better-sqlite3";
import type { ConversationSight, SlaCase, SlaStore } from "../../domain/alerts/sla.js";
import { formatAddress } from "../../domain/chat/address.js";
import type { Connection } from "../connection.js";

type Conversations = Pick<SlaStore, "unseen" | "sightsOf" | "openCase" | "caseById" | "openCases" | "nextClosing"> & {
  putCase(one: SlaCase): void;
  forgetSight(id: string): void;
};

/** Writes a sight inside the open transaction; a sight that is written twice is stored once. */
export function createInsertSight(database: Database): (sight: ConversationSight) => void {
  const insert = database.prepare<[string, string, string]>(
    "INSERT INTO sla_sights (id, conversation, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  return (sight) => void insert.run(sight.id, formatAddress(sight.address), JSON.stringify(sight));
}

/** `putCase` and `forgetSight` write inside the transaction that is open. */
export function createConversations({ database, read }: Connection): Conversations {
  const unseen = database.prepare<[number], { conversation: string }>(
    "SELECT DISTINCT conversation FROM sla_sights LIMIT ?",
  );
  const sights = database.prepare<[string, number], { data: string }>(
    "SELECT data FROM sla_sights WHERE conversation = ? ORDER BY seq LIMIT ?",
  );
  const forget = database.prepare<[string]>("DELETE FROM sla_sights WHERE id = ?");
  const put = database.prepare<[string, string, number | null, number | null, string]>(
    `INSERT INTO sla_cases (id, conversation, ended_at, closes_at, data) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET conversation = excluded.conversation, ended_at = excluded.ended_at,
       closes_at = excluded.closes_at, data = excluded.data`,
  );
  const open = database.prepare<[string], { data: string }>(
    "SELECT data FROM sla_cases WHERE conversation = ? AND ended_at IS NULL",
  );
  const byId = database.prepare<[string], { data: string }>("SELECT data FROM sla_cases WHERE id = ?");
  const openAfter = database.prepare<[string, number], { data: string }>(
    "SELECT data FROM sla_cases WHERE id > ? AND ended_at IS NULL ORDER BY id LIMIT ?",
  );
  const closing = database.prepare<[number, string], { id: string; conversation: string; closesAt: number }>(
    `SELECT id, conversation, closes_at AS closesAt FROM sla_cases INDEXED BY sla_cases_closing
     WHERE closes_at IS NOT NULL AND ended_at IS NULL AND (closes_at, id) > (?, ?) ORDER BY closes_at, id LIMIT 1`,
  );
  const putCase = (one: SlaCase) =>
    void put.run(one.id, one.conversation, one.endedAt ?? null, one.closesAt ?? null, JSON.stringify(one));
  return {
    putCase,
    forgetSight: (id) => void forget.run(id),
    unseen: (limit) => read(() => unseen.all(limit).map(({ conversation }) => conversation)),
    sightsOf: (conversation, limit) => read(() => sights.all(conversation, limit).map(({ data }) => JSON.parse(data))),
    openCase: (conversation) => read(() => caseOf(open.get(conversation))),
    caseById: (id) => read(() => caseOf(byId.get(id))),
    openCases: (afterId, limit) =>
      read(() => openAfter.all(afterId, limit).map(({ data }): SlaCase => JSON.parse(data))),
    nextClosing: (after) => read(() => closing.get(after?.closesAt ?? 0, after?.id ?? "")),
  };
}

function caseOf(row: { data: string } | undefined): SlaCase | undefined {
  return row && JSON.parse(row.data);
}
