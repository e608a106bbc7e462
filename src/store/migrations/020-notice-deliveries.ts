/** Which notices a delivery posted: when their alerts end, its message is edited. */
import { migrationOf } from "../migrate.js";

export const noticeDeliveries = migrationOf([
  "CREATE INDEX alert_notices_delivery ON alert_notices (delivery_id) WHERE delivery_id IS NOT NULL",
]);
