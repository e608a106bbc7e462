/** Posts cards and edits them in place. A card whose last change is still on its way waits for it: a storm is a few edits. */
import { createHash } from "node:crypto";
import { parseAddress } from "../../domain/address.js";
import type { AlertCard } from "../../domain/alert.js";
import { HookgateError } from "../../lib/errors.js";
import { newId } from "../../lib/id.js";
import { renderCard } from "../card/render.js";
import { tellElsewhere } from "./check-arrivals.js";
import { closeNotices } from "./close-notices.js";
import { nextRedraw } from "./redraw-cards.js";
import type { Telling } from "./telling.js";
import { isAboutDelivery, nowhere } from "./undelivered.js";

/** Between two edits of one card. */
const EDIT_EVERY_MS = 1_000;
const EDIT_LIST_EVERY_MS = 5_000;
/** How long a change on its way is waited for before it is asked again; whoever hears of its end looks at once. */
const ASK_AGAIN_MS = 2_000;
const LOOK_AFTER_MS = 15_000;
const HELD_MS = 60_000;

export async function showCards(destination: string, telling: Telling): Promise<number | undefined> {
  let next: number | undefined;
  for (const card of await telling.store.stale(destination)) {
    const later = await showCard(card, telling);
    if (later !== undefined) next = Math.min(next ?? later, later);
  }
  return next;
}

async function showCard(card: AlertCard, telling: Telling): Promise<number | undefined> {
  const { clock, store } = telling;
  const now = clock.now();
  const earliest = card.shownAt + (card.kind === "alert" ? EDIT_EVERY_MS : EDIT_LIST_EVERY_MS);
  if (card.isPosted && now < earliest) return earliest;
  if (card.unsettled !== undefined && (await isUnderWay(card.unsettled, telling))) return now + ASK_AGAIN_MS;

  const at = parseAddress(card.destination);
  if (!at) return undefined;
  const message = await renderCard(card, telling);
  const cause = { kind: "alert" as const, id: card.id, depth: 0 };
  const root = await telling.deliveryOf(card.deliveryId);
  // It may stand there or not: an operator decides, and until then a change of it would be held, too.
  if (root?.status === "held") return now + HELD_MS;
  const isThere = card.isPosted || root !== undefined;
  const isCourtesy = await isOnlyAboutDelivery(card, telling);
  const { redrawAt: _, ...drawn } = card;
  const redrawAt = await nextRedraw(card, telling);
  const shown = {
    ...drawn,
    isPosted: true,
    shown: card.wanted,
    shownAt: now,
    unsettledSince: now,
    isClosed: redrawAt === undefined,
    ...(redrawAt === undefined ? {} : { redrawAt }),
  };
  if (!isThere) {
    try {
      await telling.send(at, message, { cause, deliveryId: card.deliveryId, isCourtesy });
    } catch (error) {
      const reason = nowhere(error);
      if (reason === undefined) throw error;
      await store.saveCard({ ...shown, failedAt: card.failedAt ?? now });
      await tellElsewhere(card, reason, telling);
      return undefined;
    }
    await store.saveCard({ ...shown, unsettled: card.deliveryId });
    return now + LOOK_AFTER_MS;
  }
  const deliveryId = editId(card);
  await closeNotices(card, telling);
  try {
    await telling.edit(card.deliveryId, message, { cause, deliveryId, isCourtesy, mayComeLater: true });
  } catch (error) {
    if (!(error instanceof HookgateError) || error.code !== "DELIVERY_UNKNOWN") throw error;
    // So old that the outbox has forgotten it: it is posted anew.
    await store.saveCard({ ...card, isPosted: false, deliveryId: newId("d", now) });
    return now;
  }
  await store.saveCard({ ...shown, unsettled: deliveryId });
  return now + LOOK_AFTER_MS;
}

/** An alert about messages that were not delivered must not become one of them. */
async function isOnlyAboutDelivery({ id }: AlertCard, { store }: Telling): Promise<boolean> {
  const alerts = await store.list({ cardId: id, limit: 2 });
  return alerts.length > 0 && alerts.every(isAboutDelivery);
}

async function isUnderWay(deliveryId: string, { deliveryOf }: Telling): Promise<boolean> {
  const status = (await deliveryOf(deliveryId))?.status;
  return status === "waiting" || status === "sending";
}

/** The same change of the same card is the same delivery, however often it is asked for. */
function editId({ id, deliveryId, wanted }: AlertCard): string {
  const digest = createHash("sha256").update(`${id}|${deliveryId}|${wanted}`).digest("base64url");
  return `d_${digest.slice(0, 24)}`;
}
