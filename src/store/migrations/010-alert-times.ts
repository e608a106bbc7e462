/** When cards are drawn again by themselves, what became of what was said about alerts, and where cards have moved. */
import { migrationOf } from "../migrate.js";

export const alertTimes = migrationOf([
  "ALTER TABLE alert_cards ADD COLUMN redraw_at INTEGER",
  "CREATE INDEX alert_cards_redraw ON alert_cards (destination, redraw_at) WHERE redraw_at IS NOT NULL",
  // Those of before are taken for arrived; new ones say otherwise.
  "ALTER TABLE alert_notices ADD COLUMN is_settled INTEGER NOT NULL DEFAULT 1",
  "ALTER TABLE alert_notices ADD COLUMN sent_at INTEGER",
  "CREATE INDEX alert_notices_unsettled ON alert_notices (destination, id) WHERE NOT is_settled",
  // The card that told it before it moved, and where to.
  "ALTER TABLE alert_places ADD COLUMN left_card TEXT",
  "ALTER TABLE alert_places ADD COLUMN moved_to TEXT",
  "CREATE INDEX alert_places_left ON alert_places (left_card) WHERE left_card IS NOT NULL",
]);
