/** Segments hold packs (pack.ts). Those of before hold lines of text, which are still read. */
import { migrationOf } from "../../migrate.js";

export const packs = migrationOf(["ALTER TABLE segments RENAME COLUMN lines TO pack"]);
