/** The clock behind an alert, as it is now. */
import type { Alert } from "../../domain/alerts/alert.js";
import type { Telling } from "../tell/telling.js";

/** The data in the signal is old by now: people, pauses and the time have changed, and the customer may have taken words back. */
export async function standingOf({ signal: { source } }: Alert, { standing }: Pick<Telling, "standing">) {
  return source.kind === "sla" ? standing(source.id) : undefined;
}
