/** Deliveries whose end hooks have not been told yet. */
import { migrationOf } from "../migrate.js";

// A table of its own: marking and clearing it touches a page or two, and not the rows of messages.
export const owedHooks = migrationOf(["CREATE TABLE owed_hooks (delivery TEXT PRIMARY KEY) WITHOUT ROWID"]);
