/** A delivery whose parts are damaged can be deleted, by an operator and by retention. */
import { migrationOf } from "../migrate.js";

export const unreadableParts = migrationOf([
  "DROP TRIGGER deliveries_posted",
  `CREATE TRIGGER deliveries_posted AFTER DELETE ON deliveries WHEN OLD.parts IS NOT NULL BEGIN
    DELETE FROM posted WHERE delivery = OLD.seq
      AND message_id IN (
        SELECT json_extract(iif(type = 'object', value, '{}'), '$.messageId')
        FROM json_each(iif(json_valid(OLD.parts), OLD.parts, '[]'))
      );
  END`,
]);
