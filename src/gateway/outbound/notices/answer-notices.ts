/**
 * A person who wrote to another chat from the operators' side, with or without a role, or who asked or noted something of a task: a
 * message, correction or deletion of theirs that was not passed on has a notice, privately or else where it was written. The notice is
 * drawn from the present state: at each end that its delivery comes to, and once an operator deletes it, an existing notice is changed
 * to that.
 *
 * Like the notices of `notify-asker.ts`, it shows nothing of the message, and no hook decides about it.
 */
import { formatAddress } from "../../../domain/chat/address.js";
import type { Operator } from "../../../domain/chat/identity.js";
import { isOpenly, noticeId, openlyId } from "../../../domain/chat/openly.js";
import { DELETED_BEFORE, isGivenUpNote, isWithheldByHook, mayHaveHidden } from "../../../domain/deliveries/given-up.js";
import { queueOf } from "../../../domain/deliveries/outbox-queue.js";
import { type Delivery, isUnderWay, type NewDelivery } from "../../../domain/store.js";
import { correctedWith, endCorrections, MAX_CORRECTIONS } from "../corrected-with.js";
import type { Outbound } from "../sending.js";
import { withdraw } from "../withdraw.js";
import {
  NEVER_HANDLED,
  type NoticeTexts,
  notPassedOnTexts,
  passedOnTexts,
  purgedTexts,
} from "./answer-notice-texts.js";
import { askerOf, endsInDoubt, noticeOf, passesOn, privately, type Withheld } from "./notify-asker.js";

/** `purged`: an operator deleted it. */
type Ending = Withheld | "sent" | "purged";

/**
 * Draws the notice for this end of the delivery. That is done before the delivery is settled: a crash in between leaves no outdated notice.
 */
export async function showEnd(
  delivery: Delivery,
  ending: Withheld | "sent",
  reason: string,
  out: Outbound,
): Promise<void> {
  await draw(delivery, ending, reason, out);
  await endCorrections(delivery, ending, out);
}

async function draw(delivery: Delivery, ending: Ending, reason: string, out: Outbound): Promise<void> {
  const asker = askerOf(delivery);
  if (asker === undefined || !passesOn(delivery)) return;
  const noticesOf = async (all: readonly Delivery[]) => {
    const found = await Promise.all(all.map((one) => out.store.outbox.get(noticeOf(one, asker))));
    return found.filter((notice) => notice !== undefined);
  };
  const { earlier, isFirst } = await showingSame(delivery, ending, out);
  const texts = await textsOf(isFirst ? { ...delivery, operation: "send" } : delivery, ending, reason, asker, out);
  const own = ending === "sent" && delivery.round === 1 ? [] : await noticesOf([delivery]);
  const causes = new Set([delivery, ...earlier].map(({ cause }) => cause.id));
  for (const causeId of causes) own.push(...(await givenUpNotes(causeId, out)));
  const isNeeded = ending !== "sent" && reason !== DELETED_BEFORE;
  const before = await noticesOf(earlier);
  const isNotified = own.length > 0 || (isFirst && before.length > 0);
  if (!isNotified && isNeeded && ending !== "purged") await notify(delivery, texts, asker, out);
  await change([...own, ...before], texts, isNeeded, delivery, out);
  const ofCorrections = ending === "sent" ? passedOnTexts(delivery, "edit", out) : texts;
  await change(await noticesOf(await correctedWith(delivery, out)), ofCorrections, isNeeded, delivery, out);
}

async function textsOf(
  delivery: Delivery,
  ending: Ending,
  reason: string,
  userId: string,
  out: Outbound,
): Promise<NoticeTexts> {
  if (ending === "sent") return passedOnTexts(delivery, delivery.operation, out);
  if (ending === "purged") return purgedTexts(delivery, out);
  if (reason === DELETED_BEFORE) return passedOnTexts(delivery, "delete", out);
  const person: Operator = { platform: writtenAt(delivery).platform, userId, role: delivery.answers?.role };
  const readable = await out.readableReason(person, delivery, { status: ending, reason });
  return notPassedOnTexts(delivery, { ending, reason: readable, isInDoubt: endsInDoubt(ending, reason) }, out);
}

const writtenAt = ({ mirrors, answers, address }: Delivery) => mirrors?.address ?? answers?.askedAt ?? address;

async function notify(
  delivery: Delivery,
  [text, openText]: NoticeTexts,
  visibleTo: string,
  out: Outbound,
): Promise<void> {
  const { cause, mirrors } = delivery;
  const at = writtenAt(delivery);
  const address = privately(at, visibleTo, out);
  const message = { text: openText, replyToId: mirrors?.messageId };
  const notice: Notice = {
    id: noticeOf(delivery, visibleTo),
    address,
    operation: "send",
    message: { text },
    cause,
    visibleTo,
    // A person who cannot be written to directly sees it at least there. A reply without a mark reads as passed on.
    openly:
      formatAddress(address) === formatAddress(at)
        ? undefined
        : { address: at, message, isForEach: mirrors !== undefined },
  };
  await send(notice, out);
}

type Notice = Pick<
  NewDelivery,
  "id" | "address" | "operation" | "targetId" | "message" | "cause" | "visibleTo" | "openly"
>;

async function send(notice: Notice, out: Outbound): Promise<void> {
  const now = out.clock.now();
  const delivery: NewDelivery = { ...notice, expiresAt: now + out.config.ttl, isCourtesy: true, skipsHooks: true };
  await out.store.outbox.enqueue([delivery], now);
  out.wake(queueOf(delivery));
}

/**
 * An operator deleted it. It waited for an operator, or hooks withheld it: any other one has words that its author withdrew, or that a
 * later correction shows.
 */
export async function noticePurged(delivery: Delivery, out: Outbound): Promise<void> {
  const { id: targetId, status, reason = "" } = delivery;
  if (!isLetter(status)) {
    if (!isWithheldByHook(delivery) || reason === DELETED_BEFORE) return;
    const changes = await out.store.outbox.list({ targetId, limit: MAX_CORRECTIONS });
    if (changes.some((one) => one.status === "sent" || isUnderWay(one))) return;
  }
  await draw(delivery, "purged", reason, out);
}

/** An operator deleted this message of the inbox (`m5`), which was given up. */
export async function noticeNeverHandled(causeId: string, out: Outbound): Promise<void> {
  const notes = await givenUpNotes(causeId, out);
  for (const note of notes) await change([note], NEVER_HANDLED, true, note, out);
}

/** The notices that this message was given up before it was handled: one for each time. */
async function givenUpNotes(causeId: string, { store }: Outbound): Promise<Delivery[]> {
  return (await store.outbox.answersTo(causeId)).filter(({ id }) => isGivenUpNote(id));
}

/**
 * `earlier`: earlier texts of the same message, since the last that arrived, of which the same is so: all that did not arrive, once
 * this one did, or where nothing of the message may be there (`isFirst`: this correction would be the first text that is posted); else
 * those in whose place it is.
 */
async function showingSame(
  { seq, targetId, operation }: Delivery,
  ending: Ending,
  { store }: Outbound,
): Promise<{ earlier: Delivery[]; isFirst: boolean }> {
  if (targetId === undefined) return { earlier: [], isFirst: false };
  const first = await store.outbox.get(targetId);
  const changes = await store.outbox.list({ targetId, limit: MAX_CORRECTIONS });
  const earlier = (first ? [...changes, first] : changes).filter((one) => one.seq < seq && one.operation !== "delete");
  const lastSent = earlier.findIndex(({ status }) => status === "sent");
  const missed = lastSent === -1 ? earlier : earlier.slice(0, lastSent);
  if (ending === "sent") return { earlier: missed, isFirst: false };
  const isFirst = operation === "edit" && first !== undefined && !earlier.some(mayBeThere);
  // An earlier message or correction that an operator may still send does not end with the correction that is deleted.
  const isSame = ({ status, reason }: Delivery) =>
    status === "superseded" || reason === DELETED_BEFORE || (isFirst && (ending !== "purged" || !isLetter(status)));
  return { earlier: missed.filter(isSame), isFirst };
}

const isLetter = (status: Delivery["status"]) => status === "held" || status === "dead";

const mayBeThere = (one: Delivery) =>
  isUnderWay(one) || mayHaveHidden(one) || one.parts.some(({ status }) => status === "sent");

/** `isNeeded`: a notice that never reached its reader is sent. `end`: the delivery that came to this end. */
async function change(
  notices: readonly Delivery[],
  texts: NoticeTexts,
  isNeeded: boolean,
  end: Pick<Delivery, "cause" | "round">,
  out: Outbound,
): Promise<void> {
  for (const notice of notices) {
    const edits = await changesOf(notice, out);
    const lines = await linesOf([notice, ...edits], out);
    // A notice that is refused privately has a line where the message was written, and is not refused again.
    if (lines.length === 0) await show([notice, ...edits], texts, isNeeded, end, out);
    for (const line of lines) await show([line, ...(await changesOf(line, out))], texts, isNeeded, end, out);
  }
}

/** Newest first. */
const changesOf = ({ id: targetId }: Delivery, { store }: Outbound) =>
  store.outbox.list({ targetId, limit: MAX_CORRECTIONS });

/** The lines that replace a private notice. */
async function linesOf(notices: readonly Delivery[], { store }: Outbound): Promise<Delivery[]> {
  const lines: Delivery[] = [];
  for (const notice of notices) {
    const id = openlyId(notice);
    const line = id === undefined ? undefined : await store.outbox.get(id);
    // A line that replaces several notices is about the first.
    if (line && isShown(line) && line.cause.id === notice.cause.id) lines.push(line);
  }
  return lines;
}

const isShown = (notice: Delivery) => isUnderWay(notice) || notice.status === "sent";

async function show(
  [notice, ...edits]: readonly [Delivery, ...Delivery[]],
  [privately, openly]: NoticeTexts,
  isNeeded: boolean,
  { cause, round }: Pick<Delivery, "cause" | "round">,
  out: Outbound,
): Promise<void> {
  const { id: targetId, address, message, visibleTo } = notice;
  const text = isOpenly(targetId) ? openly : privately;
  const [newest = notice] = edits;
  if (isShown(newest) && newest.message?.text === text) return;
  let isThere = false;
  for (const one of [notice, ...edits])
    if (isUnderWay(one)) isThere = !(await withdraw(one.id, "its text is not true any more", out)) || isThere;
    else if (one.status === "sent") isThere = true;
  if (!isThere && !isNeeded) return;
  const id = noticeId(`${text} ${round} ${targetId}`);
  const line = notice.openly && { ...notice.openly, message: { ...notice.openly.message, text: openly } };
  await send(
    { id, address, operation: "edit", targetId, message: { ...message, text }, cause, visibleTo, openly: line },
    out,
  );
}
