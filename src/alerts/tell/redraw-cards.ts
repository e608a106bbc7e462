/** Cards that say how late something is are drawn again as time passes: often at first, less often the later it is. */
import type { AlertCard } from "../../domain/alert.js";
import type { Telling } from "./telling.js";

const SOONEST_MS = 60_000;
const LATEST_MS = 3_600_000;

export async function redrawCards(
  destination: string,
  { redraws, store, clock }: Telling,
): Promise<number | undefined> {
  const planned = redraws.get(destination);
  if (!planned) return undefined;
  const now = clock.now();
  for (const [id, at] of planned)
    if (at <= now) {
      planned.delete(id);
      const card = await store.card(id);
      if (card && !card.isClosed) await store.redraw(id);
    }
  return planned.size === 0 ? undefined : Math.min(...planned.values());
}

/** Of cards of one alert with a clock; a card of many shows which, not how late. */
export async function planRedraw(
  { id, kind, destination }: AlertCard,
  isClosed: boolean,
  { redraws, store, clock, lookLater }: Telling,
): Promise<void> {
  if (kind !== "alert") return;
  const planned = redraws.get(destination) ?? new Map<string, number>();
  redraws.set(destination, planned);
  const [alert] = isClosed ? [] : await store.list({ cardId: id, limit: 1 });
  const dueAt = alert?.signal.clock?.dueAt;
  if (dueAt === undefined) {
    planned.delete(id);
    return;
  }
  const now = clock.now();
  const at = now + Math.min(LATEST_MS, Math.max(SOONEST_MS, Math.abs(dueAt - now) / 4));
  planned.set(id, at);
  lookLater(destination, at);
}
