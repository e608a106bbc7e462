/** `/hooks why last` asks for the newest message of one chat, however much was written in others since. */
import { migrationOf } from "../migrate.js";

export const inboxLanes = migrationOf(["CREATE INDEX inbox_lane ON inbox (lane)"]);
