/** Clocks: the next one due is one read of an index, however many are open. */
import type { SlaClock, SlaFilter, SlaMeasure, SlaStore, SlaTally } from "../../domain/alerts/sla.js";
import type { WatchedType } from "../../domain/alerts/watched.js";
import type { Connection } from "../connection.js";
import { CLOCK_COLUMNS, type ClockRow, type ClockValues, toClock, valuesOf } from "./clock-rows.js";

/** The most clocks of an entity that are read: those that it can have open at once, and the last of its past. */
const OF_ONE_ENTITY = 50;

/** The clock used more than its target without the time that people added. */
const MET_EXTENDED = "used_ms > target_ms - ifnull(json_extract(data, '$.addedMs'), 0)";

const BY_HOOK = "ifnull(json_extract(data, '$.isByHook'), 0)";

type Clocks = Pick<
  SlaStore,
  "get" | "clocksOf" | "due" | "nextDue" | "list" | "count" | "outdated" | "tally" | "ended"
> & { put(clock: SlaClock): void };

/** `put` writes inside the transaction that is open. */
export function createClocks({ database, read }: Connection): Clocks {
  const put = database.prepare<ClockValues>(
    `INSERT INTO sla_clocks (id, policy, policy_hash, entity_type, entity_id, measure, cycle, state, outcome, due_at, next_at,
       ended_at, violated_at, used_ms, target_ms, data)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET policy_hash = excluded.policy_hash, state = excluded.state, outcome = excluded.outcome,
       due_at = excluded.due_at, next_at = excluded.next_at, ended_at = excluded.ended_at, violated_at = excluded.violated_at,
       used_ms = excluded.used_ms, target_ms = excluded.target_ms, data = excluded.data`,
  );
  const get = database.prepare<[string], ClockRow>(`SELECT ${CLOCK_COLUMNS} FROM sla_clocks WHERE id = ?`);
  const ofEntity = database.prepare<[string, string, number], ClockRow>(
    `SELECT ${CLOCK_COLUMNS} FROM sla_clocks WHERE entity_id = ? AND entity_type = ? 
     ORDER BY ended_at IS NOT NULL, measure = 'next_response', seq DESC LIMIT ?`,
  );
  const due = database.prepare<[number, string, number, number], ClockRow>(
    `SELECT ${CLOCK_COLUMNS} FROM sla_clocks INDEXED BY sla_clocks_next
     WHERE next_at IS NOT NULL AND (next_at, id) > (?, ?) AND next_at <= ? ORDER BY next_at, id LIMIT ?`,
  );
  const nextDue = database.prepare<[number], { next_at: number }>(
    "SELECT next_at FROM sla_clocks INDEXED BY sla_clocks_next WHERE next_at IS NOT NULL AND next_at > ? ORDER BY next_at LIMIT 1",
  );
  const outdated = database.prepare<[number, string, number], ClockRow>(
    `SELECT ${CLOCK_COLUMNS} FROM sla_clocks INDEXED BY sla_clocks_hash
     WHERE seq > ? AND ended_at IS NULL AND policy_hash NOT IN (SELECT value FROM json_each(?)) ORDER BY seq LIMIT ?`,
  );
  const tally = database.prepare<[number, number], SlaTally>(
    `SELECT policy AS policyId, measure, sum(outcome = 'met' AND NOT ${BY_HOOK}) AS met,
       sum(outcome = 'met' AND NOT ${BY_HOOK} AND ${MET_EXTENDED}) AS metExtended, sum(outcome = 'met' AND ${BY_HOOK}) AS metByHook,
       sum(outcome = 'late' OR (outcome IN ('withdrawn', 'unanswered') AND violated_at IS NOT NULL)) AS late,
       sum(outcome = 'unanswered' AND violated_at IS NULL) AS unanswered,
       sum(outcome = 'withdrawn' AND violated_at IS NULL) AS withdrawn,
       sum(ifnull(json_extract(data, '$.extensions'), 0) > 0) AS extended
     FROM sla_clocks WHERE ended_at IS NOT NULL AND ended_at >= ? AND ended_at < ? GROUP BY policy, measure ORDER BY policy, measure`,
  );
  const ended = database.prepare<[number, number, number], EndedRow>(
    `SELECT policy AS policyId, measure, ended_at AS endedAt, used_ms AS usedMs, target_ms AS targetMs, outcome,
       outcome = 'met' AND ${MET_EXTENDED} AS isMetExtended, ${BY_HOOK} AS isByHook
     FROM sla_clocks WHERE ended_at IS NOT NULL AND ended_at >= ? AND ended_at < ? AND used_ms IS NOT NULL
       AND (outcome IN ('met', 'late') OR violated_at IS NOT NULL)
     ORDER BY ended_at LIMIT ?`,
  );

  return {
    put: (clock) => void put.run(...valuesOf(clock)),
    get: (id) =>
      read(() => {
        const row = get.get(id);
        return row && toClock(row);
      }),
    clocksOf: (type, id) => read(() => ofEntity.all(id, type, OF_ONE_ENTITY).map(toClock)),
    due: (now, limit, after) => read(() => due.all(after?.nextAt ?? 0, after?.id ?? "", now, limit).map(toClock)),
    nextDue: (after = 0) => read(() => nextDue.get(after)?.next_at),
    list: (filter) =>
      read(() => {
        const { where, values } = conditions(filter);
        const order = filter.state === "ended" ? "ended_at DESC" : "state DESC, due_at, seq";
        return database
          .prepare<(string | number)[], ClockRow>(
            `SELECT ${CLOCK_COLUMNS} FROM sla_clocks WHERE ${where} ORDER BY ${order} LIMIT ? OFFSET ?`,
          )
          .all(...values, filter.limit, filter.offset ?? 0)
          .map(toClock);
      }),
    count: (filter) =>
      read(() => {
        const { where, values } = conditions(filter);
        return (
          database
            .prepare<(string | number)[], { rows: number }>(`SELECT count(*) AS rows FROM sla_clocks WHERE ${where}`)
            .get(...values)?.rows ?? 0
        );
      }),
    outdated: (hashes, afterSeq, limit) =>
      read(() =>
        outdated.all(afterSeq, JSON.stringify(hashes), limit).map((row) => {
          const { entity } = toClock(row);
          const type: WatchedType = entity.type;
          return { seq: row.seq, type, id: entity.id, entity };
        }),
      ),
    tally: (from, to) => read(() => tally.all(from, to)),
    ended: (from, to, limit) =>
      read(() =>
        ended.all(from, to, limit).map(({ outcome, isMetExtended, isByHook, ...row }) => ({
          ...row,
          met: outcome === "met",
          isMetExtended: isMetExtended === 1,
          isAnswered: outcome === "met" || outcome === "late",
          isByHook: isByHook === 1,
        })),
      ),
  };
}

interface EndedRow {
  policyId: string;
  measure: SlaMeasure;
  endedAt: number;
  usedMs: number;
  targetMs: number;
  outcome: string;
  isMetExtended: number;
  isByHook: number;
}

const STATES: Record<NonNullable<SlaFilter["state"]>, string> = {
  open: "ended_at IS NULL",
  running: "ended_at IS NULL AND state = 'running'",
  paused: "ended_at IS NULL AND state = 'paused'",
  overdue: "ended_at IS NULL AND violated_at IS NOT NULL",
  missed: "ended_at IS NULL AND (violated_at IS NOT NULL OR json_extract(data, '$.breachedAt') IS NOT NULL)",
  ended: "ended_at IS NOT NULL",
};

function conditions({ policyId, state = "open", entityId }: Omit<SlaFilter, "limit">) {
  const parts = [STATES[state]];
  const values: (string | number)[] = [];
  if (policyId !== undefined) {
    parts.push("policy = ?");
    values.push(policyId);
  }
  if (entityId !== undefined) {
    parts.push("entity_id = ?");
    values.push(entityId);
  }
  return { where: parts.join(" AND "), values };
}
