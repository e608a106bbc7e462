/**
 * Reads from the words of its reason how a delivery ended that did not plainly arrive; the queries of `store/messages/letters.ts` read it,
 * too. Doubt is at the start of a reason, where no words of a hook or a platform can be. The reasons below are stored and compared: rows of
 * earlier versions have these words. A new wording must still recognise the old one.
 */
import { answerId } from "../journal.js";
import { type Delivery, type DeliveryPart, isUnderWay } from "../store.js";
import { MAY_HAVE_BEEN_SENT } from "./letters.js";
import { partCountText } from "./part-count.js";

/** Part of the reason of a delivery that would have expired before its next try: it is given up at once, as it would be when it expires. */
export const GIVEN_UP = "given up before the next try";
/**
 * The start of the reason of a delivery that was sent and got no answer. It may follow the words about who withdrew the delivery, or about
 * a backup that was restored.
 */
export const IN_DOUBT = "it may or may not have arrived";

/** A request for the part was written, and no answer has reported its result. */
export const isUnanswered = (part: DeliveryPart): boolean => part.status === "sending" || mayBeShown(part);

/** A shorter wait is not written down. */
const SENT_AT_ONCE_MS = 1_000;

/**
 * The field of a part for the time of its request, if one is written `afterMs` after its delivery was created: the first request that may
 * have been posted counts.
 */
export function sentAfter(part: DeliveryPart, afterMs: number): Pick<DeliveryPart, "sentAfterMs"> {
  if (isUnanswered(part)) return {};
  return { sentAfterMs: afterMs < SENT_AT_ONCE_MS ? undefined : afterMs };
}

/** Like `isUnanswered`, but a repeated request counts only where it is for a new message. */
export const mayBePosted = (part: DeliveryPart): boolean => part.status === "sending" || mayHaveArrived(part);

/**
 * An earlier request for a new message got no answer: regardless of the result of the last request, the earlier one may have been posted.
 */
export const mayHaveArrived = (part: DeliveryPart): boolean => part.operation === "create" && mayBeShown(part);

/** Like `mayHaveArrived`, but also for a request to change a message. */
export const mayBeShown = ({ status, operation, mayHaveArrived: isMarked }: DeliveryPart): boolean =>
  status !== "sent" && operation !== "delete" && isMarked === true;

/** A person has seen that the part arrived: the platform never reported its message id. */
export const isUnknownToUs = ({ status, operation, messageId }: DeliveryPart): boolean =>
  status === "sent" && operation === "create" && messageId === undefined;

/**
 * The delivery posted a message, or may have, and the platform never reported its id. False when its author deleted it and a person saw
 * that it is not there.
 */
export function mayHaveHidden({ status, operation, parts, reason }: Delivery): boolean {
  if (operation === "delete") return false;
  if (parts.some(isUnknownToUs)) return true;
  if (reason === DELETED_BEFORE) return false;
  if (isUntold(reason) || (status === "sent" && parts.length === 0)) return true;
  // A part that was refused for certain keeps the mark of its last request.
  const isDoubtful =
    status === "held" || isUnderWay({ status }) || saysInDoubt(reason) || reason === SUPERSEDED_IN_DOUBT;
  return isDoubtful && parts.some((part) => part.operation === "create" && isUnanswered(part));
}

/** Why an edit is not sent, or not tried again. */
export const SUPERSEDED = "a newer change of the same message follows";
export const SUPERSEDED_IN_DOUBT = `${SUPERSEDED}; ${IN_DOUBT}`;

/**
 * The id of the note that a message was given up before it was handled. `round`: a second try by an operator may answer it, or end in
 * another note.
 */
export const givenUpNoteId = (causeId: string, round: number): string => answerId(causeId, `g${round}`);

export const isGivenUpNote = (deliveryId: string): boolean => /^d_m\d+g\d+$/.test(deliveryId);

/** The id of the note that a change of the message `m<rowId>` was not passed on, because an operator deleted the message. */
export const goneNoteId = (rowId: number, change: "edited" | "deleted"): string =>
  answerId(`m${rowId}`, change === "edited" ? "u" : "v");

/** The ids of the notices that hooks withheld the copy of a customer's message: for its author, and for the readers of that copy. */
export const withheldNoteIds = (causeId: string, copyId: string) =>
  ({ author: answerId(causeId, "w"), readers: `${copyId}w` }) as const;

/** The meaning of a note of the gateway about a dead, deleted or withheld message; undefined for any other delivery. */
export function noteText(deliveryId: string): string | undefined {
  if (isGivenUpNote(deliveryId)) return "a notice that the message was given up";
  if (/^d_m\d+(f|e\d+)?w$/.test(deliveryId)) return "a notice that the copy was withheld";
  const [, mark] = /^d_m\d+([uv])$/.exec(deliveryId) ?? [];
  return mark && `a notice that the ${mark === "u" ? "correction" : "deletion"} was not passed on`;
}

/** Why an edit is held: releasing the message that it changes, or the earlier edit that may have posted it, releases it too. */
export const heldWith = (id: string): string => `${HELD_WITH}${id}`;
const HELD_WITH = "what it changes is held: ";

/** The id of the delivery that an edit waits for. */
export const heldBehind = ({ targetId, reason }: Pick<Delivery, "targetId" | "reason">): string | undefined =>
  targetId !== undefined && reason?.startsWith(HELD_WITH) ? reason.slice(HELD_WITH.length) : undefined;

/** Why a deletion is dead that can never be made: a person has to look in the chat. */
export const NO_ID_TO_DELETE =
  "it was posted, but the platform gave no answer, so its id is not known: delete it in the chat by hand";
export const NOT_KNOWN_TO_DELETE =
  "it is not known whether the message is in the chat: no answer came before it was withdrawn. If it is there, delete it by hand";

/** Why a correction is dead although it is shown: a person has to look for the part that it could not change. */
export const OLD_PART_LEFT =
  "the corrected message is shown, but a part of it from before the correction may still be shown, too: no answer came when it was posted, so its id is not known. Delete it in the chat by hand";

/** The start of the reason of an edit or deletion whose message was deleted from the outbox. */
export const TARGET_UNKNOWN = "what it changes is not known any more";

/** The start of the reason of a delivery whose chat is gone: messages that were posted there are gone, too. */
export const CHAT_GONE =
  "its channel or thread was deleted, so nothing is shown there any more, and nothing can be posted there";

export const isChatGone = (reason: string | undefined): boolean => reason?.startsWith(CHAT_GONE) === true;

/** Trying the delivery again ends in the same way. */
export const isLeftToPeople = (reason: string | undefined): boolean =>
  reason === NO_ID_TO_DELETE ||
  reason === NOT_KNOWN_TO_DELETE ||
  reason === OLD_PART_LEFT ||
  isChatGone(reason) ||
  reason?.startsWith(TARGET_UNKNOWN) === true;

/** The start of the reason of a delivery that an operator withdrew. */
export const WITHDRAWN_BY = "withdrawn by ";

/** The reason of a delivery whose author deleted it. */
export const DELETED_BEFORE = "deleted before it was sent";

type Ended = Pick<Delivery, "status" | "reason" | "expiresAt" | "settledAt" | "isCourtesy">;

/** A courtesy that is given up is not held or dead, but cancelled. */
const isGivenUp = ({ status, isCourtesy = false }: Ended) =>
  status === "dead" || status === "held" || (isCourtesy && status === "cancelled");

/** The reason of a delivery that was sent and got no answer. */
export const saysInDoubt = (reason = ""): boolean =>
  reason.startsWith(IN_DOUBT) ||
  ((reason.startsWith(WITHDRAWN_BY) || isUntold(reason)) && reason.includes(`; ${IN_DOUBT}`));

/** It is not known whether the delivery arrived. */
export function isInDoubt(ended: Ended): boolean {
  return (isGivenUp(ended) || isWithdrawn(ended)) && saysInDoubt(ended.reason);
}

/** An operator cancelled the delivery. */
export const isWithdrawn = ({ status, reason }: Pick<Delivery, "status" | "reason">): boolean =>
  status === "cancelled" && reason?.startsWith(WITHDRAWN_BY) === true;

/** The reason of a delivery that is withdrawn with these parts: whether some may have arrived, and how many did. */
export function withdrawnReason(reason: string, parts: readonly DeliveryPart[]): string {
  return `${reason}${parts.some(isUnanswered) ? `; ${IN_DOUBT}` : ""}${partCountText(parts)}`;
}

/** Only a person who looks in the chat knows whether it was sent. */
export const isUntold = (reason = ""): boolean => reason.startsWith(MAY_HAVE_BEEN_SENT);

/**
 * An operator has to decide about the delivery, and it may have been posted: a part was written to the wire and no answer came, or its row
 * does not show whether it was sent.
 */
export function isAmbiguous({ status, parts, reason }: Pick<Delivery, "status" | "parts" | "reason">): boolean {
  return status === "held" && (parts.some((part) => part.status === "sending") || isUntold(reason));
}

/** The reason of a withdrawn delivery after an answer came: `before` are the parts that the given reason is about. */
export function withdrawnReasonNow(
  reason: string | null,
  before: readonly DeliveryPart[],
  now: readonly DeliveryPart[],
): string | null {
  const end = withdrawnReason("", before);
  if (!reason?.startsWith(WITHDRAWN_BY) || !reason.endsWith(end)) return reason;
  return withdrawnReason(reason.slice(0, reason.length - end.length), now);
}

/** The delivery ended, and people may have seen it. */
export const maySeeIt = (delivery: Delivery): boolean => isAmbiguous(delivery) || isInDoubt(delivery);

/** The delivery waited until its message was out of date, or would have. */
export function hasExpired(ended: Ended): boolean {
  const { status, expiresAt, settledAt = 0, reason = "" } = ended;
  if (status === "held" || expiresAt === undefined || !isGivenUp(ended)) return false;
  return expiresAt <= settledAt || reason.includes(GIVEN_UP);
}

/** A chat may accept edits and refuse every new message. A message that was deleted, or not posted, is posted by its edit. */
export const isNewMessage = ({ parts }: Pick<Delivery, "parts">): boolean =>
  parts.some(({ operation, status }) => operation === "create" && status === "sent");

/** A hook withheld the delivery, or failed and holds it: nothing was sent. */
export function isStoppedByHook(delivery: Delivery): boolean {
  const { status, asked, parts } = delivery;
  return isWithheldByHook(delivery) || (status === "held" && asked > 0 && parts.length === 0 && !isInDoubt(delivery));
}

/**
 * Hooks were asked about the delivery, and decided that it is not sent. A delivery that the gateway withdraws while hooks are asked is not
 * distinguished: the caller knows its reason.
 */
export function isWithheldByHook({ status, asked, parts, reason = "" }: Delivery): boolean {
  if (status === "suppressed") return true;
  return status === "cancelled" && asked > 0 && parts.length === 0 && !reason.startsWith(WITHDRAWN_BY);
}
