/** The same indexes under conditions that cost a comparison: for `IN (…)` SQLite fills a table of its own at each row that is written. */
import { migrationOf } from "../migrate.js";

export const plainConditions = migrationOf([
  "DROP INDEX deliveries_open",
  "CREATE INDEX deliveries_open ON deliveries (conversation, seq) WHERE (status = 'waiting' OR status = 'sending')",
  "DROP INDEX deliveries_exceptions",
  `CREATE INDEX deliveries_exceptions ON deliveries (status, seq)
    WHERE status <> 'sent' AND status <> 'waiting' AND status <> 'sending'`,
]);
