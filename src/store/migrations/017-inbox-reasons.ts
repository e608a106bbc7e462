/** Why a message was not answered (not addressed, the chat is not listed, …), for whoever asks later. */
import { migrationOf } from "../migrate.js";

export const inboxReasons = migrationOf(["ALTER TABLE inbox ADD COLUMN reason TEXT"]);
