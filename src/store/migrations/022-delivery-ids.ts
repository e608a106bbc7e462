/** What the handling of a message led to, for whoever asks when the deliveries are deleted: which there were, and which there never were. */
import { migrationOf } from "../migrate.js";

export const deliveryIds = migrationOf(["ALTER TABLE inbox ADD COLUMN delivery_ids TEXT"]);
