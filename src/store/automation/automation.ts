/** The data of configured hooks on disk. */
import type { AutomationStore } from "../../domain/automation.js";
import type { Connection } from "../connection.js";
import type { AddPending } from "../pending.js";
import { createIngest } from "./ingest.js";
import { createInsertRun, createRuns } from "./runs.js";
import { createSnapshots } from "./snapshots.js";
import { createTriggers } from "./triggers.js";

export function createAutomationStore(connection: Connection, addPending: AddPending): AutomationStore {
  const insertRun = createInsertRun(connection);
  return {
    runs: createRuns(connection, insertRun),
    triggers: createTriggers(connection, insertRun),
    ingest: createIngest(connection, addPending),
    snapshots: createSnapshots(connection),
  };
}
