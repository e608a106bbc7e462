/** How long alerts can be kept quiet, by `/silence add` and by `/sla mute`, which is a silence, too. */
import { DAY_MS } from "../../src/lib/time/duration.js";
import { badUsage } from "../answer.js";
import { WHEN_FORMS } from "../show/when.js";

const MAX_DAYS = 90;

export function checkSilenceLength(forMs: number): void {
  if (forMs > MAX_DAYS * DAY_MS) throw badUsage(`Alerts can be silenced for ${MAX_DAYS} days at most.`, WHEN_FORMS);
}
