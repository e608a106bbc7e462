/** A record of the journal with no more in it than it must have. */
import type { DispatchRecord } from "../../../src/domain/journal.js";

/** When it was. */
export const NOW = Date.UTC(2026, 0, 1, 12, 30);

export function bareDispatch(changes: Partial<DispatchRecord> = {}): DispatchRecord {
  return {
    id: "x1",
    point: "p",
    model: "void",
    at: NOW,
    latencyMs: 1,
    payload: {},
    attempt: 1,
    dryRun: false,
    outcome: "passed",
    runs: [],
    ...changes,
  };
}
