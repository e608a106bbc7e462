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

/** One hook in the batch under way. */
interface RecentCounts {
  hour: number;
  counts: HourCounts;
  total: Totals;
}

export class HookStatsWriter {
  readonly #statements;
  /** By hour, by hook. */
  readonly #hours = new Map<number, Map<string, HourCounts>>();
  readonly #totals = new Map<string, Totals>();
  #cached = 0;
  /** Totals of the batch under way, keyed by its own texts: looking up the same object is several times quicker than an equal one. */
  #recent = new Map<string, RecentCounts>();

  constructor(database: Database) {
    this.#statements = prepareStatements(database);
  }

  add(hook: string, at: number, outcome: Outcome, latencyMs: number): void {
    const { counts: hour, total } = this.#recentOf(hook, at);
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
  }

  /** Writes changed counts; inside the transaction of the dispatches. */
  save(): void {
    this.#recent = new Map();
    const { writeHour, writeTotals } = this.#statements;
    for (const byHook of this.#hours.values())
      for (const counts of byHook.values()) {
        if (!counts.changed) continue;
        writeHour.run(counts.hook, counts.hour, counts.fires, counts.failures, JSON.stringify(counts.latencies));
        counts.changed = false;
      }
    for (const [hook, counts] of this.#totals) {
      if (!counts.changed) continue;
      writeTotals.run(hook, counts.fires, counts.lastAt, counts.lastOutcome);
      counts.changed = false;
    }
    if (this.#cached > MAX_CACHED) this.#forgetHours();
  }

  /** After a rollback. */
  forget(): void {
    this.#recent = new Map();
    this.#forgetHours();
    this.#totals.clear();
  }

  #forgetHours(): void {
    this.#hours.clear();
    this.#cached = 0;
  }

  #recentOf(hook: string, at: number): RecentCounts {
    const hour = Math.floor(at / HOUR_MS);
    let one = this.#recent.get(hook);
    if (one?.hour !== hour) {
      one = { hour, counts: this.#hourOf(hook, hour), total: this.#totalsOf(hook) };
      this.#recent.set(hook, one);
    }
    return one;
  }

  #hourOf(hook: string, hour: number): HourCounts {
    let byHook = this.#hours.get(hour);
    if (!byHook) {
      byHook = new Map();
      this.#hours.set(hour, byHook);
    }
    let counts = byHook.get(hook);
    if (!counts) {
      const stored = this.#statements.readHour.get(hook, hour);
      const latencies: Histogram = stored ? JSON.parse(stored.latencies) : {};
      counts = { hook, hour, fires: stored?.fires ?? 0, failures: stored?.failures ?? 0, latencies, changed: false };
      byHook.set(hook, counts);
      this.#cached++;
    }
    return counts;
  }

  #totalsOf(hook: string): Totals {
    let counts = this.#totals.get(hook);
    if (!counts) {
      counts = { fires: 0, lastAt: 0, lastOutcome: "", ...this.#statements.readTotals.get(hook), changed: false };
      this.#totals.set(hook, counts);
    }
    return counts;
  }
}

function prepareStatements(database: Database) {
  return {
    readHour: database.prepare<[string, number], { fires: number; failures: number; latencies: string }>(
      "SELECT fires, failures, latencies FROM hook_hours WHERE hook = ? AND hour = ?",
    ),
    writeHour: database.prepare<[string, number, number, number, string]>(
      "INSERT OR REPLACE INTO hook_hours (hook, hour, fires, failures, latencies) VALUES (?, ?, ?, ?, ?)",
    ),
    readTotals: database.prepare<[string], { fires: number; lastAt: number; lastOutcome: string }>(
      "SELECT fires, last_at AS lastAt, last_outcome AS lastOutcome FROM hook_totals WHERE hook = ?",
    ),
    writeTotals: database.prepare<[string, number, number, string]>(
      "INSERT OR REPLACE INTO hook_totals (hook, fires, last_at, last_outcome) VALUES (?, ?, ?, ?)",
    ),
  };
}
