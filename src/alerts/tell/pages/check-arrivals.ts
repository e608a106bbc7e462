/** Looks after cards on their way. A card that cannot be posted in its chat is posted elsewhere, and that is an alert itself. */
import { type AlertCard, isOpen } from "../../../domain/alerts/alert.js";
import { isInDoubt, isNewMessage, isStoppedByHook } from "../../../domain/deliveries/given-up.js";
import type { Delivery } from "../../../domain/store.js";
import { isAboutPlace } from "../../own-alerts.js";
import type { Loss } from "../../plan.js";
import { isCalledOff } from "../../urging.js";
import { CHECK_AGAIN_MS } from "../late.js";
import { repostAt } from "../redraw-cards.js";
import type { Telling } from "../telling.js";
import { withheldPost } from "../withheld.js";
import { sendTest } from "./test-arrival.js";
import { isLost, lossOf, noteArrival, noteRefusal, raiseUndelivered, undelivered } from "./undelivered.js";

/** Alerts that are sent elsewhere in one go. */
const PAGE = 200;

export async function checkArrivals(destination: string, telling: Telling): Promise<number | undefined> {
  const { store, clock } = telling;
  const now = clock.now();
  let next: number | undefined;
  for (const card of await store.unsettled(destination)) {
    const delivery = await telling.deliveryOf(card.unsettled ?? "");
    const { unsettled: _, unsettledSince = now, ...settled } = card;
    switch (delivery?.status) {
      case "waiting":
      case "sending": {
        const patience = unsettledSince + telling.config.fallback_after;
        const isReached = isHeldByLimit(delivery) && telling.inhibitors.hasTaken(destination, unsettledSince);
        if (card.failedAt === undefined && now >= patience && !isReached) {
          await store.saveCard({ ...card, failedAt: now });
          const loss = lossOf(destination, delivery, telling);
          await tellElsewhere(card, loss, telling, delivery.operation === "edit");
        }
        next = Math.min(next ?? now + CHECK_AGAIN_MS, now + CHECK_AGAIN_MS);
        break;
      }
      case "cancelled":
      case "suppressed":
      case "dead":
      case "held":
        if (!isLost(delivery)) {
          await store.saveCard(settled);
          break;
        }
        noteRefusal(destination, delivery, telling);
        if (isInDoubt(delivery) && card.redrawAt !== undefined) {
          settled.redrawAt = Math.min(card.redrawAt, repostAt(card, delivery));
          next = Math.min(next ?? settled.redrawAt, settled.redrawAt);
        }
        await store.saveCard({ ...settled, failedAt: now });
        await tellElsewhere(
          card,
          lossOf(destination, delivery, telling),
          telling,
          await isWithheldChange(card, delivery, telling),
        );
        break;
      case "sent": {
        const { failedAt: __, ...arrived } = settled;
        await store.saveCard(arrived);
        if (isNewMessage(delivery)) {
          await noteArrival(destination, telling);
        } else if (card.failedAt !== undefined) await testAgain(destination, telling);
        break;
      }
      // A newer change took its place, or the outbox has forgotten it.
      default:
        await store.saveCard(settled);
    }
  }
  return next;
}

/** A change of a card that the platform was not asked for yet: it waits for its place among those that the chat takes in a minute. */
const isHeldByLimit = ({ operation, attempts }: Delivery) => operation === "edit" && attempts === 0;

/** An edit that was late has arrived: a test message finds out whether new messages do. */
async function testAgain(destination: string, telling: Telling): Promise<void> {
  const known = await telling.store.latest(undelivered(destination).fingerprint);
  if (known && isOpen(known.state)) await sendTest(destination, telling);
}

/** A hook's decision on a change of a card shows nothing about its chat. */
const isWithheldChange = async (card: AlertCard, delivery: Delivery, telling: Telling) =>
  delivery.operation === "edit" && isStoppedByHook(delivery) && !(await withheldPost(card, telling));

/**
 * `isChange`: the card is there, and a change of it waits or was withheld. That change is not shown elsewhere for alerts that an operator
 * has.
 */
export async function tellElsewhere(card: AlertCard, loss: Loss, telling: Telling, isChange = false): Promise<void> {
  const { store, logger, run } = telling;
  const { destination } = card;
  const { reason, isByHook } = loss;
  const isAgain = card.failedAt !== undefined;
  logger.error({ card: card.id, destination, reason }, "an alert could not be sent");
  // A card of many may show alerts about this place beside others. A card without any alert: its alerts are shown elsewhere by now.
  const isAboutPlaces = (await store.list({ cardId: card.id, limit: PAGE })).every(isAboutPlace);
  for (let afterId = ""; ; ) {
    const page = await store.list({ cardId: card.id, afterId, limit: PAGE });
    await Promise.all(
      page
        .filter((alert) => isOpen(alert.state) && !(isChange && isCalledOff(alert)))
        .map(({ id }) => run({ kind: "undelivered", id, destination, ...loss, isAgain })),
    );
    afterId = page.at(-1)?.id ?? afterId;
    if (page.length < PAGE) break;
  }
  // One message in doubt shows nothing about its chat. A second one does.
  if (isAboutPlaces || (isChange && isByHook)) return;
  if (loss.fate !== "in doubt" || isAgain) await raiseUndelivered(destination, loss, telling);
}
