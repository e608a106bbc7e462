/** The queries of the outbox: the next delivery of a queue, deliveries that people ask for, and how many there are. */
import type { Database } from "better-sqlite3";
import { queueText, readQueue } from "../../domain/deliveries/outbox-queue.js";
import {
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryStatus,
  type FailingDeliveries,
  type OutboxStore,
} from "../../domain/store.js";
import type { Connection } from "../connection.js";
import { type GiveUp, readable } from "../database-file/unreadable.js";
import {
  DELIVERY_COLUMNS,
  type DeliveryRecord,
  IS_EXCEPTION,
  IS_OPEN,
  QUEUE_NAME,
  remainsOf,
  toDelivery,
} from "./delivery-rows.js";

/** More deliveries than one message leads to. */
const MAX_ANSWERS = 100;
/** The number of newest deliveries that are searched for those of a cause: the cause has no index. */
const MAX_SEARCHED = 5000;
/** A delivery counts as failing from this number of attempts: one or two failures are common. */
const FAILED_ATTEMPTS = 3;

type Lookups = Pick<OutboxStore, "get" | "findByMessage" | "findAllByMessage" | "answersTo" | "causedBy">;
type Counts = Pick<OutboxStore, "counts" | "oldestOpen" | "failing" | "openOf">;

const SELECT = `SELECT ${DELIVERY_COLUMNS} FROM deliveries`;

/** `giveUp`: takes deliveries that cannot be read, so that they do not hold up those behind them. */
export function createQueueQueries(
  { database, read }: Connection,
  giveUp: GiveUp,
): Pick<OutboxStore, "next" | "pending"> {
  const next = database.prepare<[string, string | null], DeliveryRecord>(
    `${SELECT} INDEXED BY deliveries_open WHERE conversation = ? AND ${IS_OPEN} AND ${QUEUE_NAME} IS ?
     ORDER BY seq LIMIT 1`,
  );
  // SQLite takes the bare columns from the row that min() found: https://www.sqlite.org/lang_select.html#bareagg
  const pending = database.prepare<[], { conversation: string; name: string | null; dueAt: number }>(
    `SELECT conversation, ${QUEUE_NAME} AS name, due_at AS dueAt, min(seq) FROM deliveries
     WHERE ${IS_OPEN} GROUP BY conversation, name`,
  );
  return {
    next: async (queue) => {
      const { conversation, name } = readQueue(queue);
      for (;;) {
        const record = await read(() => next.get(conversation, name));
        const delivery = record && readable([record], toDelivery)[0];
        if (!record || delivery) return delivery;
        await giveUp.deliveries([record.id]);
      }
    },
    pending: () =>
      read(() =>
        pending.all().map(({ conversation, name, dueAt }) => ({ queue: queueText(conversation, name), dueAt })),
      ),
  };
}

/** Deliveries by their id, by the ids of their platform messages, and by their cause. */
export function createDeliveryLookups({ database, read }: Connection): Lookups {
  const byId = database.prepare<[string], DeliveryRecord>(`${SELECT} WHERE id = ?`);
  const byMessage = database.prepare<[string, string, string, string], DeliveryRecord>(
    `${SELECT} WHERE seq =
       (SELECT delivery FROM posted WHERE chat = ? AND message_id = ? AND bot = ? AND platform = ?)`,
  );
  const byMessageAnywhere = database.prepare<[string], DeliveryRecord>(
    `${SELECT} WHERE seq IN (SELECT delivery FROM posted WHERE message_id = ?) ORDER BY seq`,
  );
  // The id of the cause, a letter for the kind of delivery (`r`eply, `f`orward, …), and perhaps a number. The index of ids finds them.
  const byCause = database.prepare<[string, string], DeliveryRecord>(
    `${SELECT} WHERE id >= ? AND id < ? ORDER BY seq LIMIT ${MAX_ANSWERS}`,
  );
  // For other causes, only the columns before the message are read: the columns behind them are not even loaded.
  const byOtherCause = database.prepare<[number, string, string], DeliveryRecord>(
    `${SELECT} WHERE seq IN (
       SELECT seq FROM (SELECT seq, id, created_at, iif(json_valid(data), data, '{}') AS data FROM deliveries ORDER BY seq DESC LIMIT ${MAX_SEARCHED})
       WHERE created_at >= ? AND data ->> '$.cause.kind' IN (SELECT value FROM json_each(?))
         AND substr(data ->> '$.cause.id', 1, instr((data ->> '$.cause.id') || ':', ':') - 1) IN (SELECT value FROM json_each(?))
       ORDER BY seq DESC LIMIT ${MAX_ANSWERS})
     ORDER BY seq`,
  );
  const shownIfAny = (record: DeliveryRecord | undefined): Delivery | undefined => record && shown(record);
  return {
    get: (id) => read(() => shownIfAny(byId.get(id))),
    findByMessage: ({ chatId, botId, platform }, messageId) =>
      read(() => shownIfAny(byMessage.get(chatId, messageId, botId, platform))),
    findAllByMessage: (messageId) => read(() => byMessageAnywhere.all(messageId).map(shown)),
    answersTo: (causeId) => read(() => byCause.all(`d_${causeId}a`, `d_${causeId}{`).map(shown)),
    causedBy: (ids, kinds, since) =>
      read(() => byOtherCause.all(since, JSON.stringify(kinds), JSON.stringify(ids)).map(shown)),
  };
}

/** The lists for people, newest first. */
export function createDeliveryLists({ database, read }: Connection): Pick<OutboxStore, "list"> {
  const byStatus = (condition: string) =>
    database.prepare<[number, number], DeliveryRecord>(
      `${SELECT} WHERE ${condition} AND seq < ? ORDER BY seq DESC LIMIT ?`,
    );
  const seqOf = database.prepare<[string], { seq: number }>("SELECT seq FROM deliveries WHERE id = ?");
  const newest = byStatus("true");
  // The status is in the text of the query, not in a parameter: only so does SQLite see that a partial index fits.
  const newestOf = new Map(DELIVERY_STATUSES.map((status) => [status, byStatus(listCondition(status))]));
  const newestIn = database.prepare<[string, number], DeliveryRecord>(
    `${SELECT} WHERE conversation = ? ORDER BY seq DESC LIMIT ?`,
  );
  const newestInWith = database.prepare<[string, DeliveryStatus, number], DeliveryRecord>(
    `${SELECT} WHERE conversation = ? AND status = ? ORDER BY seq DESC LIMIT ?`,
  );
  const newestFor = database.prepare<[string, string | null, DeliveryStatus | null, number], DeliveryRecord>(
    `${SELECT} WHERE target_id = ? AND conversation = ifnull(?, conversation) AND status = ifnull(?, status)
     ORDER BY seq DESC LIMIT ?`,
  );

  const records = ({ status, conversation, targetId, before, limit }: Parameters<OutboxStore["list"]>[0]) => {
    if (targetId !== undefined) return newestFor.all(targetId, conversation ?? null, status ?? null, limit);
    if (conversation !== undefined && status !== undefined) return newestInWith.all(conversation, status, limit);
    if (conversation !== undefined) return newestIn.all(conversation, limit);
    // A delivery that was removed meanwhile: it is not known which ones are older.
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : (seqOf.get(before)?.seq ?? 0);
    return (status === undefined ? newest : newestOf.get(status))?.all(end, limit) ?? [];
  };

  return { list: (filter) => read(() => records(filter).map(shown)) };
}

/** `giveUp`: deliveries whose status does not exist, which no query above finds. */
export function createDeliveryCounts({ database, read }: Connection, giveUp: GiveUp): Counts {
  const oldest = database.prepare<[], { at: number | null }>(
    `SELECT min(created_at) AS at FROM deliveries INDEXED BY deliveries_open WHERE ${IS_OPEN}`,
  );
  const openOf = database.prepare<[string], { rows: number }>(
    `SELECT count(*) AS rows FROM deliveries INDEXED BY deliveries_open
     WHERE ${IS_OPEN} AND substr(conversation, 1, instr(conversation, ':') - 1) = ?`,
  );
  // As for a queue, the reason is that of the row which min() found.
  const failing = database.prepare<[], FailingDeliveries>(
    `SELECT substr(conversation, 1, instr(conversation, ':') - 1) AS platform, count(*) AS deliveries, min(created_at) AS since, reason
     FROM deliveries INDEXED BY deliveries_open WHERE ${IS_OPEN} AND attempts - waits >= ${FAILED_ATTEMPTS} AND reason IS NOT NULL
     GROUP BY platform`,
  );
  const countByStatus = createCountByStatus(database);
  return {
    openOf: (platform) => read(() => openOf.get(platform)?.rows ?? 0),
    failing: () => read(() => failing.all()),
    oldestOpen: () => read(() => oldest.get()?.at ?? undefined),
    counts: async () => {
      const found = await read(countByStatus);
      // No queue and no list has a row whose status does not exist: the running gateway meets such a row only here.
      const isWhole = Object.keys(found).length === DELIVERY_STATUSES.length;
      return isWhole || (await giveUp.lostDeliveries()) === 0 ? found : read(countByStatus);
    },
  };
}

function createCountByStatus(database: Database): () => Record<DeliveryStatus, number> {
  const countBy = (condition: string) =>
    database.prepare<[], { status: DeliveryStatus; rows: number }>(
      `SELECT status, count(*) AS rows FROM deliveries WHERE ${condition} GROUP BY status`,
    );
  const countOpen = countBy(IS_OPEN);
  const countExceptions = countBy(IS_EXCEPTION);
  const countAll = database.prepare<[], { rows: number }>("SELECT count(*) AS rows FROM deliveries");
  return () => {
    const counts = {
      waiting: 0,
      sending: 0,
      held: 0,
      sent: countAll.get()?.rows ?? 0,
      suppressed: 0,
      cancelled: 0,
      superseded: 0,
      dead: 0,
    };
    for (const { status, rows } of [...countOpen.all(), ...countExceptions.all()]) {
      counts[status] = rows;
      counts.sent -= rows;
    }
    return counts;
  };
}

/** The view of a row that cannot be read, for an operator: enough to delete it. */
function shown(record: DeliveryRecord): Delivery {
  return readable([record], toDelivery)[0] ?? remainsOf(record);
}

/** A condition like `status = …`, in words that name the partial index. */
function listCondition(status: DeliveryStatus): string {
  if (status === "waiting" || status === "sending") return `status = '${status}' AND ${IS_OPEN}`;
  return status === "sent" ? "status = 'sent'" : `status = '${status}' AND ${IS_EXCEPTION}`;
}
