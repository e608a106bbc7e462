/**
 * All messages about alerts to one destination. Places get their card, changed cards are sent or edited, notices are sent, and sent
 * messages are looked after until they have arrived. All of it comes from rows, under delivery ids that are known before they are enqueued:
 * when it is done again after a crash, it enqueues nothing twice.
 */

import { checkNotices } from "./tell/check-notices.js";
import { checkArrivals } from "./tell/pages/check-arrivals.js";
import { endWithheld, endWithPause } from "./tell/pages/undelivered.js";
import { placeAlerts } from "./tell/place-alerts.js";
import { markForRedraw } from "./tell/redraw-cards.js";
import { sayNotices } from "./tell/say-notices.js";
import { showCards } from "./tell/show-cards.js";
import type { Telling } from "./tell/telling.js";

/** Returns the time of the next pass, if one is needed. */
export async function tell(destination: string, telling: Telling): Promise<number | undefined> {
  const laters = [
    await markForRedraw(destination, telling),
    await checkArrivals(destination, telling),
    await checkNotices(destination, telling),
    await placeAlerts(destination, telling),
    await showCards(destination, telling),
    await sayNotices(destination, telling),
    await endWithPause(destination, telling),
  ].filter((at) => at !== undefined);
  await endWithheld(destination, telling);
  return laters.length === 0 ? undefined : Math.min(...laters);
}
