/** How long a platform asked to wait: a pause that would last longer than that was set under another clock. */
import { migrationOf } from "../migrate.js";

export const pauseLengths = migrationOf([
  "ALTER TABLE pauses ADD COLUMN asked_ms INTEGER NOT NULL DEFAULT 0",
  // The length of earlier pauses is unknown: an hour is more than platforms usually ask for.
  "UPDATE pauses SET asked_ms = 3600000",
]);
