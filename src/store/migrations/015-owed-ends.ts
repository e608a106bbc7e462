/** What hooks are owed, in one row for all that ended in one transaction: `deliveries` is a JSON list of ids. */
import { migrationOf } from "../migrate.js";

export const owedEnds = migrationOf([
  "CREATE TABLE owed_ends (id INTEGER PRIMARY KEY, deliveries TEXT NOT NULL)",
  "INSERT INTO owed_ends (deliveries) SELECT json_array(delivery) FROM owed_hooks",
  "DROP TABLE owed_hooks",
]);
