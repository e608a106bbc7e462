/**
 * `round`: which dispatch of its hooks comes next; one more for each retry, re-offer and release, so that dispatch ids are unique.
 * `asked`, `told`: how often hooks were asked in this round whether it may go, and how often a start repeated how it ended.
 */
import { migrationOf } from "../migrate.js";

export const dispatchNumbers = migrationOf([
  "ALTER TABLE inbox ADD COLUMN round INTEGER NOT NULL DEFAULT 1",
  "ALTER TABLE deliveries ADD COLUMN round INTEGER NOT NULL DEFAULT 1",
  "ALTER TABLE deliveries ADD COLUMN asked INTEGER NOT NULL DEFAULT 0",
  "ALTER TABLE deliveries ADD COLUMN told INTEGER NOT NULL DEFAULT 0",
]);
