/** The migrations of the journal's database, in order. */
import type { Migrations } from "../../migrate.js";
import { journal } from "./001-journal.js";

export const journalMigrations: Migrations = { "001-journal": journal };
