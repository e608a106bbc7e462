/** Writes the journal's file. Runs in the worker thread (or, for temporary databases, in the gateway's own). */
import type { Database } from "better-sqlite3";
import { Pack } from "../../fast/pack/pack.js";
import type { Header } from "../../fast/pack/records.js";
import { secretMask } from "../../lib/signing/secret.js";
import { DAY_MS, HOUR_MS } from "../../lib/time/duration.js";
import { historyError } from "../errors.js";
import { HookStatsWriter } from "./hook-stats-writer.js";
import type { JournalReply, JournalRequest, WriterFacts } from "./protocol.js";
import { createSegmentWriter, type SegmentWriter } from "./segments.js";

const SESSION_MS = 7 * DAY_MS;

export interface JournalWriter {
  readonly lastBatch: number;
  handle(request: Exclude<JournalRequest, { kind: "close" }>): JournalReply;
}

export function createJournalWriter(database: Database, { file, session, secrets }: WriterFacts): JournalWriter {
  const lastBatch = database
    .prepare<[string], { batch: number }>("SELECT batch FROM batches WHERE session = ?")
    .get(session)?.batch;
  const mask = secretMask(secrets);
  // Masks a pack at once: almost always there is nothing to hide. Each text has a line of its own, so no text around a secret makes it look
  // like none.
  const hide = (pack: Pack) => (mask(pack.text) === pack.text ? pack : pack.withTexts(mask));
  const segments = createSegmentWriter(database);
  const write = createWrite(database, segments, session);
  const sweep = createSweep(database, segments);

  return {
    lastBatch: lastBatch ?? 0,
    handle(request) {
      switch (request.kind) {
        case "write":
          try {
            write(request.batch, hide(new Pack(request.pack)));
            return { kind: "written", batch: request.batch };
          } catch (thrown) {
            const { code, message, hint } = historyError(thrown, file);
            return { kind: "refused", batch: request.batch, code, message, hint };
          }
        case "sweep":
          try {
            return { kind: "swept", id: request.id, ...sweep(request.before, request.maxRows) };
          } catch (thrown) {
            const { code, message } = historyError(thrown, file);
            return { kind: "sweep-failed", id: request.id, code, message };
          }
      }
    },
  };
}

/** A transaction for a batch: its segment, the counts of its hooks, and that it is written. */
function createWrite(database: Database, segments: SegmentWriter, session: string) {
  const stats = new HookStatsWriter(database);
  const setBatch = database.prepare<[string, number, number]>(
    `INSERT INTO batches (session, batch, at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET batch = excluded.batch, at = excluded.at`,
  );
  const count = ({ at, isDryRun, runs }: Header): void => {
    if (isDryRun) return;
    // A background run is counted when it runs.
    for (const { hookId, outcome, latencyMs } of runs)
      if (outcome !== "skipped" && outcome !== "backgrounded") stats.add(hookId, at, outcome, latencyMs);
  };
  const writeAll = database.transaction((batch: number, pack: Pack): void => {
    segments.add(pack);
    let at = 0;
    for (let i = 0; i < pack.length; i++) {
      const header = pack.header(i);
      count(header);
      at = header.at;
    }
    stats.save();
    setBatch.run(session, batch, at);
  });
  return (batch: number, pack: Pack): void => {
    try {
      writeAll(batch, pack);
    } catch (thrown) {
      // The transaction was rolled back: remembered facts about the rows may not be in them.
      segments.forget();
      stats.forget();
      throw thrown;
    }
  };
}

/** Deletes some of the records that are too old or too many. Counts per hook stay. */
function createSweep(database: Database, segments: SegmentWriter) {
  const removeHours = database.prepare<[number]>("DELETE FROM hook_hours WHERE hour < ?");
  const removeSessions = database.prepare<[number]>("DELETE FROM batches WHERE at < ?");
  return database.transaction((before: number, maxRows: number) => {
    const { removed, more } = segments.sweep(before, maxRows);
    const hours = removeHours.run(Math.floor(before / HOUR_MS)).changes;
    removeSessions.run(before - SESSION_MS);
    return { removed: { dispatches: removed, hook_hours: hours }, more };
  });
}
