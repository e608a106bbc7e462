/** The login token is in a file of its own now: a start creates a new one, and the old one is worth nothing. */
import { migrationOf } from "../migrate.js";

export const noConsoleToken = migrationOf(["DELETE FROM own_secrets WHERE name = 'console-token'"]);
