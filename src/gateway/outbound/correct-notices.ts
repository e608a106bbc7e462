/** A person was notified that their words were not passed on, and now they are: the notice says so, or is not sent. */
import { formatAddress } from "../../domain/address.js";
import { isGivenUpNote, isWithheldByHook } from "../../domain/given-up.js";
import type { Cause } from "../../domain/journal.js";
import { openlyId } from "../../domain/openly.js";
import { queueOf } from "../../domain/outbox-queue.js";
import { type Delivery, isUnderWay, type NewDelivery } from "../../domain/store.js";
import { askerOf, NEVER_HANDLED, noticeId, noticeOf, passesOn, purgedTexts } from "./notify-asker.js";
import type { Outbound } from "./sending.js";
import { DELETED_BEFORE, withdraw } from "./withdraw.js";

/** Why a held correction is not sent as an edit. */
export const SENT_WITH_CORRECTION = "the message was sent with a correction";

/** Far more than a person makes. */
const MAX_CORRECTIONS = 100;

/** Before it counts as sent: a crash between both leaves no notice as it was. */
export async function correctNotices(delivery: Delivery, out: Outbound): Promise<void> {
  const asker = askerOf(delivery);
  if (asker === undefined || !passesOn(delivery)) return;
  const noticesOf = (all: readonly Delivery[]) =>
    Promise.all(all.map((one) => out.store.outbox.get(noticeOf(one, asker))));
  const missed = await missedBefore(delivery, out);
  const causes = new Set([delivery, ...missed].map(({ cause }) => cause.id));
  const givenUp = await Promise.all([...causes].map((id) => givenUpNotes(id, out)));
  await correctPassedOn(delivery, delivery.operation, [...(await noticesOf(missed)), ...givenUp.flat()], out);
  await correctPassedOn(delivery, "edit", await noticesOf(await correctedWith(delivery, out)), out);
}

/** `operation`: what the notices are about. */
async function correctPassedOn(
  { address, cause }: Delivery,
  operation: Delivery["operation"],
  notices: readonly (Delivery | undefined)[],
  out: Outbound,
): Promise<void> {
  const [privately, openly] = PASSED_ON[operation];
  const place = out.offers.placeName(address) ?? formatAddress(address);
  for (const [notice, text] of await withLines(notices, [`**${privately} in ${place}.**`, openly], out)) {
    if (isUnderWay(notice) && (await withdraw(notice.id, "the message was passed on after all", out))) continue;
    await correct(notice, text, "passed on", cause, out);
  }
}

const PASSED_ON: Record<Delivery["operation"], readonly [privately: string, openly: string]> = {
  send: ["Your message was posted", "This message was passed on."],
  edit: ["Your corrected message is shown", "The corrected message was passed on."],
  delete: ["Your deleted message is not shown", "The deletion of this message was passed on."],
};

/** An operator deleted it: no command that an earlier notice names sends it any more. */
export async function noticePurged(delivery: Delivery, out: Outbound): Promise<void> {
  const asker = askerOf(delivery);
  if (asker === undefined || !passesOn(delivery) || !(await isMissing(delivery, out))) return;
  const notice = await out.store.outbox.get(noticeOf(delivery, asker));
  await correctPurged([notice], purgedTexts(delivery, out), out);
}

/** An operator deleted this message of the inbox (`m5`), which was given up. */
export async function noticeNeverHandled(causeId: string, out: Outbound): Promise<void> {
  await correctPurged(await givenUpNotes(causeId, out), NEVER_HANDLED, out);
}

async function correctPurged(
  notices: readonly (Delivery | undefined)[],
  texts: readonly [string, string],
  out: Outbound,
): Promise<void> {
  for (const [notice, text] of await withLines(notices, texts, out)) {
    const isCorrected = isUnderWay(notice) && (await out.store.outbox.correct(notice.id, { ...notice.message, text }));
    if (!isCorrected) await correct(notice, text, "purged", notice.cause, out);
  }
}

/** It waited for an operator, or hooks withheld it. Any other one has words that its author withdrew, or that a later correction shows. */
async function isMissing(delivery: Delivery, { store }: Outbound): Promise<boolean> {
  const { id: targetId, status, reason } = delivery;
  if (status === "held" || status === "dead") return true;
  if (!isWithheldByHook(delivery) || reason === DELETED_BEFORE) return false;
  const changes = await store.outbox.list({ targetId, limit: MAX_CORRECTIONS });
  return !changes.some((one) => one.status === "sent" || isUnderWay(one));
}

/** The notices that this message was given up before it was handled: one for each time. */
async function givenUpNotes(causeId: string, { store }: Outbound): Promise<Delivery[]> {
  return (await store.outbox.answersTo(causeId)).filter(({ id }) => isGivenUpNote(id));
}

/** Private notices and the lines that stand in for them, with what each is to say. */
async function withLines(
  notices: readonly (Delivery | undefined)[],
  [privately, openly]: readonly [string, string],
  { store }: Outbound,
): Promise<[Delivery, string][]> {
  const found: [Delivery, string][] = [];
  for (const notice of notices) {
    if (!notice) continue;
    const lineId = openlyId(notice);
    const line = lineId === undefined ? undefined : await store.outbox.get(lineId);
    found.push([notice, privately]);
    // One that stands for several is about the first.
    if (line?.cause.id === notice.cause.id) found.push([line, openly]);
  }
  return found;
}

/** The corrections that it was sent with: they waited until an operator decided about it. */
async function correctedWith({ id: targetId, round }: Delivery, { store }: Outbound): Promise<Delivery[]> {
  if (round === 1) return [];
  const edits = await store.outbox.list({ targetId, status: "superseded", limit: MAX_CORRECTIONS });
  return edits.filter(({ reason }) => reason === SENT_WITH_CORRECTION);
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
  cause: Cause,
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
