/** What hooks are to be told (`after`) of assessments that they let go. */
import { migrationOf } from "../migrate.js";

// Kept after it was told, as long as the assessment: what is asked again after a crash is neither asked nor told twice.
export const assessmentTellings = migrationOf([
  `CREATE TABLE assessment_tellings (
    task_id TEXT NOT NULL, attempt INTEGER NOT NULL, point TEXT NOT NULL, at INTEGER NOT NULL,
    tries INTEGER NOT NULL, told INTEGER NOT NULL, payload TEXT NOT NULL,
    PRIMARY KEY (task_id, attempt, point)
  ) WITHOUT ROWID`,
  "CREATE INDEX assessment_tellings_untold ON assessment_tellings (at) WHERE told = 0",
  "CREATE INDEX assessment_tellings_at ON assessment_tellings (at)",
]);
