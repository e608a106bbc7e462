/** Reads the journal's file through a connection of its own, beside the thread that writes it. */
import type { Database } from "better-sqlite3";
import {
  type DispatchFilter,
  type DispatchRecord,
  type HookStats,
  type Journal,
  type Outcome,
  rootOf,
} from "../../domain/journal.js";
import { Pack } from "../../fast/pack/pack.js";
import { type Header, hasFailed } from "../../fast/pack/records.js";
import type { HookgateError } from "../../lib/errors.js";
import { HOUR_MS } from "../../lib/time/duration.js";
import { historyError } from "../errors.js";
import { addHistogram, type Histogram, percentile } from "./histogram.js";
import type { SegmentRow } from "./segments.js";
import { foreignRunTrait, idTrait, mayHold, traitsOf } from "./traits.js";

export type JournalReader = Pick<Journal, "get" | "getByRun" | "list"> & {
  stats(now: number): Promise<Map<string, HookStats>>;
};

export function createJournalReader(
  database: Database,
  file: string,
  onError: (error: HookgateError) => void,
): JournalReader {
  const search = createSearch(database);
  const stats = createStats(database);
  const read = async <T>(job: () => T): Promise<T> => {
    try {
      return job();
    } catch (thrown) {
      const error = historyError(thrown, file);
      onError(error);
      throw error;
    }
  };
  const byId = (id: string) => search([idTrait(id)], (header) => header.id === id);

  return {
    get: (id) => read(() => first(byId(id))?.dispatch),
    getByRun: (runId) =>
      read(() => {
        const dispatchId = runId.slice(0, Math.max(0, runId.lastIndexOf("/")));
        for (const { dispatch } of byId(dispatchId)) if (dispatch.runs.some((run) => run.id === runId)) return dispatch;
        return first(search([foreignRunTrait(runId)], ({ runs }) => runs.some(({ ownId }) => ownId === runId)))
          ?.dispatch;
      }),
    list: (filter) =>
      read(() => {
        const found: DispatchRecord[] = [];
        const before = filter.before === undefined ? undefined : first(byId(filter.before))?.place;
        if (filter.before !== undefined && !before) return found;
        for (const { dispatch } of search(traitsOf(filter), (header) => fits(header, filter), before)) {
          if (found.length >= filter.limit) break;
          found.push(dispatch);
        }
        return found;
      }),
    stats: (now) => read(() => stats(now)),
  };
}

/** The place of a record: its segment, and its number in it. */
interface Place {
  segment: number;
  index: number;
}

function first<T>(found: Iterable<T>): T | undefined {
  for (const one of found) return one;
  return undefined;
}

/** Newest first: segments that may hold a match are read, and their matching records are unpacked. */
function createSearch(database: Database) {
  const segments = database.prepare<[number], { n: number; traits: Buffer }>(
    "SELECT n, traits FROM segments WHERE n <= ? ORDER BY n DESC",
  );
  const packs = database.prepare<[number], Pick<SegmentRow, "pack">>("SELECT pack FROM segments WHERE n = ?");

  return function* search(
    traits: readonly string[],
    isWanted: (header: Header) => boolean,
    before?: Place,
  ): Generator<{ dispatch: DispatchRecord; place: Place }> {
    for (const segment of segments.iterate(before?.segment ?? Number.MAX_SAFE_INTEGER)) {
      if (!mayHold(segment.traits, traits)) continue;
      const row = packs.get(segment.n);
      if (!row) continue;
      const records = new Pack(row.pack);
      const from = before?.segment === segment.n ? before.index : records.length;
      for (let index = from - 1; index >= 0; index--)
        if (isWanted(records.header(index)))
          yield { dispatch: records.dispatch(index), place: { segment: segment.n, index } };
    }
  };
}

function fits(header: Header, wanted: DispatchFilter): boolean {
  return (
    (wanted.point === undefined || wanted.point === header.point) &&
    (wanted.conversation === undefined || wanted.conversation === header.conversation) &&
    (wanted.messageId === undefined || wanted.messageId === header.messageId) &&
    (wanted.of === undefined || wanted.of === rootOf(header.id)) &&
    (wanted.outcome === undefined || wanted.outcome === header.outcome) &&
    (wanted.hookId === undefined || header.runs.some(({ hookId }) => hookId === wanted.hookId)) &&
    (!wanted.failed || hasFailed(header))
  );
}

/** The last 24 h by whole hours: the counts cover between 24 and 25 hours. */
function createStats(database: Database) {
  const totals = database.prepare<[], { hookId: string; fires: number; lastAt: number; lastOutcome: Outcome }>(
    `SELECT hook AS hookId, fires, last_at AS lastAt, last_outcome AS lastOutcome FROM hook_totals ORDER BY hook`,
  );
  const hours = database.prepare<[number], { hookId: string; fires: number; failures: number; latencies: string }>(
    "SELECT hook AS hookId, fires, failures, latencies FROM hook_hours WHERE hour >= ?",
  );
  return (now: number): Map<string, HookStats> => {
    const stats = new Map<string, HookStats>();
    for (const { hookId, fires, lastAt, lastOutcome } of totals.all())
      stats.set(hookId, { hookId, lastFiredAt: lastAt, lastOutcome, fires: 0, failures: 0, totalFires: fires });
    const latencies = new Map<string, Histogram>();
    for (const hour of hours.all(Math.floor(now / HOUR_MS) - 24)) {
      const hook = stats.get(hour.hookId);
      if (!hook) continue;
      hook.fires += hour.fires;
      hook.failures += hour.failures;
      const sum = latencies.get(hour.hookId) ?? {};
      addHistogram(sum, JSON.parse(hour.latencies));
      latencies.set(hour.hookId, sum);
    }
    for (const [hookId, histogram] of latencies) {
      const hook = stats.get(hookId);
      const p95Ms = percentile(histogram, 0.95);
      if (hook && p95Ms !== undefined) hook.p95Ms = p95Ms;
    }
    return stats;
  };
}
