/** What is known of whoever sent an event: a program of a hook, on this machine. */
import { migrationOf } from "../migrate.js";

export const eventCauses = migrationOf(["ALTER TABLE automation_events ADD COLUMN cause TEXT"]);
