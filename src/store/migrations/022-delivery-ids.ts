/** The deliveries of a message, kept after they are deleted: `/hooks why` then knows which existed and which never did. */
import { migrationOf } from "../migrate.js";

export const deliveryIds = migrationOf(["ALTER TABLE inbox ADD COLUMN delivery_ids TEXT"]);
