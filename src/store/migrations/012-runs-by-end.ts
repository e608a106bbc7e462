/** The loop guard asks which runs were under way when a file changed. */
import { migrationOf } from "../migrate.js";

export const runsByEnd = migrationOf([
  "CREATE INDEX automation_runs_ended ON automation_runs (ended_at) WHERE ended_at IS NOT NULL AND started_at IS NOT NULL",
]);
