/** Posts cards and edits them in place. A card whose last change is still on its way waits for it: a storm is a few edits. */
import { createHash } from "node:crypto";
import type { AlertCard } from "../../domain/alerts/alert.js";
import { parseAddress } from "../../domain/chat/address.js";
import { isInDoubt, isStoppedByHook } from "../../domain/deliveries/given-up.js";
import { type Delivery, isUnderWay } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import { newId } from "../../lib/id.js";
import { isPerson } from "../card/alert-card.js";
import { renderCard } from "../card/render.js";
import { closeNotices } from "./close-notices.js";
import { CHECK_AGAIN_MS } from "./late.js";
import { tellElsewhere } from "./pages/check-arrivals.js";
import { isAboutDelivery, nowhere } from "./pages/undelivered.js";
import { nextRedraw, repostAt } from "./redraw-cards.js";
import type { Telling } from "./telling.js";
import { newsSince, withheldPost } from "./withheld.js";

/** Between two edits of one card. */
const EDIT_EVERY_MS = 1_000;
const EDIT_LIST_EVERY_MS = 5_000;
/** How long a change on its way is waited for before it is requested again; the end of the change wakes this at once. */
const WAIT_FOR_CHANGE_MS = 2_000;
const HELD_MS = 60_000;
/** Changes of cards that wait for a place in one chat: more of them would show old states. */
const MAX_CHANGES = 2;
const MAX_ALERTS = 20;

export async function showCards(destination: string, telling: Telling): Promise<number | undefined> {
  const changes = await changesUnderWay(destination, telling);
  let next: number | undefined;
  for (const one of await mostWantedFirst(await telling.store.stale(destination), telling)) {
    const later = await showCard(one, changes, telling);
    if (later !== undefined) next = Math.min(next ?? later, later);
  }
  return next;
}

/**
 * The kind of change that a card does not show yet: a person took, snoozed or ended an alert, an alert changed its state otherwise, or the
 * rest.
 */
const ACT = 2;
const STATE = 1;
const REST = 0;

interface Stale {
  card: AlertCard;
  news: typeof ACT | typeof STATE | typeof REST;
}

async function mostWantedFirst(cards: readonly AlertCard[], telling: Telling): Promise<Stale[]> {
  const stale: Stale[] = [];
  for (const card of cards) stale.push({ card, news: card.isPosted ? await newsOf(card, telling) : REST });
  return stale.sort(
    (a, b) => Number(a.card.isPosted) - Number(b.card.isPosted) || b.news - a.news || a.card.shownAt - b.card.shownAt,
  );
}

async function newsOf({ id, shownAt }: AlertCard, { store }: Telling): Promise<Stale["news"]> {
  const changed = await store.list({ cardId: id, since: shownAt, limit: MAX_ALERTS });
  for (const alert of changed) {
    const history = await store.history(alert.id);
    if (history.some(({ at, from, to, actor }) => at >= shownAt && from !== to && isPerson(actor))) return ACT;
  }
  return changed.some(({ since }) => since >= shownAt) ? STATE : REST;
}

/** Changes of cards that wait for a place in their chat; one that the platform refuses again and again is waited for by none. */
async function changesUnderWay(destination: string, { store, deliveryOf }: Telling): Promise<Set<string>> {
  const changes = new Set<string>();
  for (const { isPosted, deliveryId, unsettled } of await store.unsettled(destination)) {
    if (!isPosted || unsettled === undefined || unsettled === deliveryId) continue;
    const change = await deliveryOf(unsettled);
    if (change?.urgency === "later" && !change.isApart && isUnderWay(change)) changes.add(unsettled);
  }
  return changes;
}

async function showCard({ card, news }: Stale, changes: Set<string>, telling: Telling): Promise<number | undefined> {
  const { clock, store } = telling;
  const now = clock.now();
  const earliest = card.shownAt + (card.kind === "alert" ? EDIT_EVERY_MS : EDIT_LIST_EVERY_MS);
  if (card.isPosted && now < earliest) return earliest;
  const last = card.unsettled === undefined ? undefined : await telling.deliveryOf(card.unsettled);
  // The change by a person does not wait for an earlier change.
  const waits = last !== undefined && isUnderWay(last);
  const isUrgent = news === ACT && !(waits && last.operation === "send");
  if (!isUrgent && (waits || (card.isPosted && changes.size >= MAX_CHANGES))) return now + WAIT_FOR_CHANGE_MS;

  const at = parseAddress(card.destination);
  if (!at) return undefined;
  const message = await renderCard(card, telling);
  const cause = { kind: "alert" as const, id: card.id, depth: 0 };
  const root = await telling.deliveryOf(card.deliveryId);
  const redrawAt = await nextRedraw(card, telling);
  if (root && isInDoubt(root) && redrawAt !== undefined) return postAnew(card, root, telling);
  // An operator decides about the card, and until then a change of it would be held, too.
  if (root?.status === "held") return now + HELD_MS;
  const withheld = await withheldPost(card, telling);
  const since = withheld && (await newsSince(withheld, card, telling));
  const asked = since === undefined ? undefined : await telling.deliveryOf(editId(card, since));
  const isDecided = withheld !== undefined && (since === undefined || (asked !== undefined && isStoppedByHook(asked)));
  const isThere = card.isPosted || root !== undefined;
  const isCourtesy = await isOnlyAboutDelivery(card, telling);
  const { redrawAt: _, ...drawn } = card;
  const shown = {
    ...drawn,
    isPosted: true,
    shown: card.wanted,
    shownAt: now,
    unsettledSince: now,
    isClosed: redrawAt === undefined,
    redrawAt,
  };
  // Hooks are asked again when the card's alerts change.
  if (isDecided) {
    await store.saveCard({ ...shown, shownAt: card.shownAt, unsettledSince: card.unsettledSince });
    return undefined;
  }
  // All alerts on the card have ended, and its change would be posted as a second card.
  if (root && isInDoubt(root)) {
    await store.saveCard({ ...shown, isPosted: card.isPosted });
    return undefined;
  }
  const refusal = telling.inhibitors.refusalOf(card.destination, now);
  if (refusal !== undefined) {
    await store.saveCard({ ...shown, isPosted: card.isPosted, failedAt: card.failedAt ?? now });
    await tellElsewhere(card, { fate: "refused", reason: refusal }, telling);
    return undefined;
  }
  if (!isThere) {
    try {
      // People who must act read the card before the messages of people that wait for the limit of the chat, such as copies.
      await telling.send(at, message, { cause, deliveryId: card.deliveryId, isCourtesy, urgency: "urgent" });
    } catch (error) {
      const reason = nowhere(error);
      if (reason === undefined) throw error;
      await store.saveCard({ ...shown, failedAt: card.failedAt ?? now });
      await tellElsewhere(card, { fate: "unsent", reason }, telling);
      return undefined;
    }
    await store.saveCard({ ...shown, unsettled: card.deliveryId });
    return now + CHECK_AGAIN_MS;
  }
  const deliveryId = editId(card, since);
  await closeNotices(card, telling);
  try {
    const urgency = isUrgent ? "urgent" : "later";
    await telling.edit(card.deliveryId, message, { cause, deliveryId, isCourtesy, urgency });
    if (!isUrgent) changes.add(deliveryId);
  } catch (error) {
    if (!(error instanceof HookgateError) || error.code !== "DELIVERY_UNKNOWN") throw error;
    // The card is so old that the outbox has forgotten it: it is posted again.
    await store.saveCard({ ...card, isPosted: false, deliveryId: newId("d", now) });
    return now;
  }
  await store.saveCard({ ...shown, unsettled: deliveryId });
  return now + CHECK_AGAIN_MS;
}

/** The card may be there or not. The chat may work by now, and a card twice is better than none. */
async function postAnew(card: AlertCard, root: Delivery, { store, clock, discard }: Telling): Promise<number> {
  const now = clock.now();
  const { settledAt = 0 } = root;
  const dueAt = repostAt(card, root);
  // The clock may have been set back.
  if (now >= settledAt && now < dueAt) return dueAt;
  await discard([root.id], "the card of its alert is posted again");
  await store.saveCard({ ...card, isPosted: false, deliveryId: newId("d", now) });
  return now;
}

/** An alert about messages that were not delivered must not become one of them. */
async function isOnlyAboutDelivery({ id }: AlertCard, { store }: Telling): Promise<boolean> {
  const alerts = await store.list({ cardId: id, limit: 2 });
  return alerts.length > 0 && alerts.every(isAboutDelivery);
}

/** The same change of the same card is the same delivery, however often it is asked for. `since`: the changes since hooks withheld it. */
function editId({ id, deliveryId, wanted }: AlertCard, since = String(wanted)): string {
  const digest = createHash("sha256").update(`${id}|${deliveryId}|${since}`).digest("base64url");
  return `d_${digest.slice(0, 24)}`;
}
