/** Counts per hook: by the hour (fires, failures, latencies) and for ever (fires, the time and outcome of the last one). */
import type { Database } from "better-sqlite3";
import type { Outcome } from "../../domain/journal.js";
import { isFailure } from "../../fast/pack/records.js";
import { HOUR_MS } from "../../lib/time/duration.js";
import { addLatency, type Histogram } from "./histogram.js";

/**
 * Counts (one per hook and hour) kept in memory. With more, all are dropped after a save and read again when needed: with more hooks in use
 * than this, at each save.
 */
const MAX_CACHED = 2000;

interface HourCounts {
  hook: string;
  hour: number;
  fires: number;
  failures: number;
  latencies: Histogram;
  changed: boolean;
}
interface Totals {
  fires: number;
  lastAt: number;
  lastOutcome: string;
  changed: boolean;
}

export interface HookStatsWriter {
  add(hook: string, at: number, outcome: Outcome, latencyMs: number): void;
  /** Writes changed counts; inside the transaction of the dispatches. */
  save(): void;
  /** After a rollback. */
  forget(): void;
}

export function createHookStatsWriter(database: Database): HookStatsWriter {
  const readHour = database.prepare<[string, number], { fires: number; failures: number; latencies: string }>(
    "SELECT fires, failures, latencies FROM hook_hours WHERE hook = ? AND hour = ?",
  );
  const writeHour = database.prepare<[string, number, number, number, string]>(
    "INSERT OR REPLACE INTO hook_hours (hook, hour, fires, failures, latencies) VALUES (?, ?, ?, ?, ?)",
  );
  const readTotals = database.prepare<[string], { fires: number; lastAt: number; lastOutcome: string }>(
    "SELECT fires, last_at AS lastAt, last_outcome AS lastOutcome FROM hook_totals WHERE hook = ?",
  );
  const writeTotals = database.prepare<[string, number, number, string]>(
    "INSERT OR REPLACE INTO hook_totals (hook, fires, last_at, last_outcome) VALUES (?, ?, ?, ?)",
  );
  /** By hour, by hook. */
  const hours = new Map<number, Map<string, HourCounts>>();
  const totals = new Map<string, Totals>();

  let cached = 0;
  const forgetHours = () => {
    hours.clear();
    cached = 0;
  };
  const hourOf = (hook: string, hour: number): HourCounts => {
    let byHook = hours.get(hour);
    if (!byHook) {
      byHook = new Map();
      hours.set(hour, byHook);
    }
    let counts = byHook.get(hook);
    if (!counts) {
      const stored = readHour.get(hook, hour);
      const latencies: Histogram = stored ? JSON.parse(stored.latencies) : {};
      counts = { hook, hour, fires: stored?.fires ?? 0, failures: stored?.failures ?? 0, latencies, changed: false };
      byHook.set(hook, counts);
      cached++;
    }
    return counts;
  };
  const totalsOf = (hook: string): Totals => {
    let counts = totals.get(hook);
    if (!counts) {
      counts = { fires: 0, lastAt: 0, lastOutcome: "", ...readTotals.get(hook), changed: false };
      totals.set(hook, counts);
    }
    return counts;
  };

  /** Totals of the batch under way, keyed by its own texts: looking up the same object is several times quicker than an equal one. */
  let recent = new Map<string, { hour: number; counts: HourCounts; total: Totals }>();
  const recentOf = (hook: string, at: number) => {
    const hour = Math.floor(at / HOUR_MS);
    let one = recent.get(hook);
    if (one?.hour !== hour) {
      one = { hour, counts: hourOf(hook, hour), total: totalsOf(hook) };
      recent.set(hook, one);
    }
    return one;
  };

  return {
    add(hook, at, outcome, latencyMs) {
      const { counts: hour, total } = recentOf(hook, at);
      hour.fires++;
      if (isFailure(outcome)) hour.failures++;
      addLatency(hour.latencies, latencyMs);
      hour.changed = true;
      total.fires++;
      if (at >= total.lastAt) {
        total.lastAt = at;
        total.lastOutcome = outcome;
      }
      total.changed = true;
    },
    save() {
      recent = new Map();
      for (const byHook of hours.values())
        for (const counts of byHook.values()) {
          if (!counts.changed) continue;
          writeHour.run(counts.hook, counts.hour, counts.fires, counts.failures, JSON.stringify(counts.latencies));
          counts.changed = false;
        }
      for (const [hook, counts] of totals) {
        if (!counts.changed) continue;
        writeTotals.run(hook, counts.fires, counts.lastAt, counts.lastOutcome);
        counts.changed = false;
      }
      if (cached > MAX_CACHED) forgetHours();
    },
    forget() {
      recent = new Map();
      forgetHours();
      totals.clear();
    },
  };
}
