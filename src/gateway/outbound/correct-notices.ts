/** A person was notified that their words were not passed on, and now they are: the notice says so, or is not sent. */
import { formatAddress } from "../../domain/address.js";
import { openlyId } from "../../domain/openly.js";
import { queueOf } from "../../domain/outbox-queue.js";
import { type Delivery, isUnderWay, type NewDelivery } from "../../domain/store.js";
import { askerOf, noticeId, noticeOf, passesOn, purgedTexts } from "./notify-asker.js";
import type { Outbound } from "./sending.js";
import { withdraw } from "./withdraw.js";

/** Far more than a person makes. */
const MAX_CORRECTIONS = 100;

/** Before it counts as sent: a crash between both leaves no notice as it was. */
export async function correctNotices(delivery: Delivery, out: Outbound): Promise<void> {
  const asker = askerOf(delivery);
  // What is sent at its first try, and corrects nothing, was not missed before.
  const wasTried = delivery.round > 1 || delivery.operation === "edit";
  if (asker === undefined || delivery.operation === "delete" || !wasTried || !passesOn(delivery)) return;
  const place = out.offers.placeName(delivery.address) ?? formatAddress(delivery.address);
  const [posted, openly] =
    delivery.operation === "edit"
      ? [`**Your corrected message is shown in ${place}.**`, "The corrected message was passed on."]
      : [`**Your message was posted in ${place}.**`, "This message was passed on."];
  for (const missed of await missedBefore(delivery, out))
    for (const [notice, text] of await noticesOf(missed, asker, [posted, openly], out)) {
      if (isUnderWay(notice) && (await withdraw(notice.id, "the message was passed on after all", out))) continue;
      await correct(notice, text, "passed on", delivery, out);
    }
}

/** An operator deleted it: no command that an earlier notice names sends it any more. */
export async function noticePurged(delivery: Delivery, out: Outbound): Promise<void> {
  const asker = askerOf(delivery);
  // Any other one has words that its author withdrew, or that a later correction shows.
  const isWaited = delivery.status === "held" || delivery.status === "dead";
  if (asker === undefined || !isWaited || !passesOn(delivery)) return;
  for (const [notice, text] of await noticesOf(delivery, asker, purgedTexts(delivery, out), out)) {
    const isCorrected = isUnderWay(notice) && (await out.store.outbox.correct(notice.id, { ...notice.message, text }));
    if (!isCorrected) await correct(notice, text, "purged", delivery, out);
  }
}

/** The private notice and the line that stands in for it, with what each is to say. */
async function noticesOf(
  missed: Delivery,
  asker: string,
  [privately, openly]: readonly [string, string],
  { store }: Outbound,
): Promise<[Delivery, string][]> {
  const notice = await store.outbox.get(noticeOf(missed, asker));
  const lineId = notice && openlyId(notice);
  const line = lineId === undefined ? undefined : await store.outbox.get(lineId);
  const found: [Delivery, string][] = [];
  if (notice) found.push([notice, privately]);
  if (line) found.push([line, openly]);
  return found;
}

/** Itself when it was given up before, and the earlier texts of the same message that did not arrive. */
async function missedBefore(delivery: Delivery, { store }: Outbound): Promise<Delivery[]> {
  const { id, seq, round, targetId } = delivery;
  const own = round > 1 ? [delivery] : [];
  if (targetId === undefined) return own;
  const first = await store.outbox.get(targetId);
  const edits = await store.outbox.list({ targetId, limit: MAX_CORRECTIONS });
  const isMissed = (other: Delivery) =>
    other.id !== id && other.seq < seq && other.operation !== "delete" && other.status !== "sent";
  return [...own, ...(first ? [first, ...edits] : edits).filter(isMissed)];
}

async function correct(
  notice: Delivery,
  text: string,
  since: "passed on" | "purged",
  { cause }: Delivery,
  out: Outbound,
): Promise<void> {
  if (!isUnderWay(notice) && notice.status !== "sent") return;
  const { id: targetId, address, message, visibleTo } = notice;
  const now = out.clock.now();
  const edit: NewDelivery = {
    // Once: it is right from then on.
    id: noticeId(`${since} ${targetId}`),
    address,
    operation: "edit",
    targetId,
    message: { ...message, text },
    cause,
    expiresAt: now + out.config.ttl,
    visibleTo,
    isCourtesy: true,
    skipsHooks: true,
  };
  await out.store.outbox.enqueue([edit], now);
  out.wake(queueOf(edit));
}
