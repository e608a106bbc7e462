/** Which alert people mean by `last`: the one that was posted last in their chat. */
import type { AlertStore } from "../domain/alerts/alert.js";
import { type Alert, isOpen } from "../domain/alerts/alert.js";
import { OWN_KIND } from "./own-alerts.js";

const REACH = 500;
/** The gateway's alerts about itself come among those of customers, and are rarely meant. */
const ABOUT_ITSELF: ReadonlySet<string> = new Set([OWN_KIND, "gateway"]);

/** Only open alerts; one about work before one about the gateway. `chat`: its formatted addresses; without it the newest anywhere. */
export async function lastPosted(
  chat: readonly string[] | undefined,
  store: Pick<AlertStore, "list" | "placesOf" | "postedWith">,
): Promise<Alert | undefined> {
  const found: { alert: Alert; isWork: boolean; at: number }[] = [];
  for (const alert of await store.list({ open: true, limit: REACH })) {
    const at = chat === undefined ? alert.raisedAt : await postedAt(alert, chat, store);
    const isWork = !ABOUT_ITSELF.has(alert.signal.source.kind);
    if (at !== undefined && isOpen(alert.state)) found.push({ alert, isWork, at });
  }
  return found.sort((a, b) => Number(b.isWork) - Number(a.isWork) || b.at - a.at)[0]?.alert;
}

/** The time of the alert's card, or of its last reminder or escalation; undefined when nothing was posted there. */
async function postedAt(
  { id, raisedAt, firedAt }: Alert,
  chat: readonly string[],
  store: Pick<AlertStore, "placesOf" | "postedWith">,
): Promise<number | undefined> {
  const places = await store.placesOf(id);
  const isPlaced = places.some((place) => chat.includes(place.destination) && place.cardId !== undefined);
  const posted = (await Promise.all(chat.map((destination) => store.postedWith(id, destination)))).flat();
  const times = posted.flatMap(({ alertId, sentAt }) => (alertId === id && sentAt !== undefined ? [sentAt] : []));
  if (isPlaced) times.push(firedAt ?? raisedAt);
  return times.length === 0 ? undefined : Math.max(...times);
}
