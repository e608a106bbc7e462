/** The migrations of the journal's database, in order. */
import type { Migrations } from "../../migrate.js";
import { journal } from "./001-journal.js";
import { packs } from "./002-packs.js";

export const journalMigrations: Migrations = { "001-journal": journal, "002-packs": packs };
