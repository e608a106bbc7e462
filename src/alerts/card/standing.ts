/** The clock behind an alert, as it is now. */
import { type Alert, isOpen } from "../../domain/alerts/alert.js";
import type { Telling } from "../tell/telling.js";

/** What its source said once is old by now: people, pauses and the time have gone on. */
export async function standingOf({ state, signal: { source } }: Alert, { standing }: Pick<Telling, "standing">) {
  return source.kind === "sla" && isOpen(state) ? standing(source.id) : undefined;
}
