/** A message that became a dead letter: its author waits for an answer that does not come by itself. */
import { formatAddress } from "../../domain/chat/address.js";
import { hasRole, type Role } from "../../domain/chat/identity.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import { givenUpNoteId } from "../../domain/deliveries/given-up.js";
import type { NewDelivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { note, orOpenly } from "./answer-command.js";
import { isOurs, LOST, originOf } from "./forward.js";
import { afterMove, asWritten, causeId, type Inbound, messageAddress, referenceTo, startsSeen } from "./receiving.js";
import { isNotified } from "./reply.js";
import { senderOf } from "./sender.js";

/**
 * The note for the author: a person who is notified when no hook answers, who sees that a button or a command still waits, or who answered
 * a customer.
 */
export async function givenUpNote(row: LaneRow, inbound: Inbound): Promise<NewDelivery | undefined> {
  const event = afterMove(row.event, inbound);
  if (!("message" in event) || event.kind === "edited") return undefined;
  const { message } = event;
  const { role } = senderOf(message, inbound).operator;
  const interaction = "interaction" in event && !event.interaction?.isNotice ? event.interaction : undefined;
  const isAnswer = interaction === undefined && (await isAnswerOf(asWritten(row, message), role, inbound));
  if (!interaction && !isAnswer && !isNotified(message, role, inbound)) return undefined;
  const text = textFor(row, role, isAnswer);
  const id = givenUpNoteId(causeId(row), row.round);
  if (interaction) return { ...note(row, message, interaction, text, inbound), id };
  return { ...authorNote(row, message, { text, isAnswer }, inbound), id };
}

/** True when one of us answers a customer with the message. */
export async function isAnswerOf(message: InboundMessage, role: Role | undefined, inbound: Inbound): Promise<boolean> {
  const origin = await originOf(message, inbound);
  return origin === LOST || (origin !== undefined && (await isOurs(message, role, origin, inbound)));
}

/** For the author of a message, privately or else where it was written. */
export function authorNote(
  row: LaneRow,
  message: InboundMessage,
  { text, isAnswer }: { text: string; isAnswer: boolean },
  inbound: Inbound,
): NewDelivery {
  const notice = note(row, message, undefined, text, inbound);
  const at = messageAddress(message);
  const reply = { text, replyToId: referenceTo(row, message) };
  if (message.isDm) return { ...notice, message: { ...notice.message, ...reply } };
  if (!isAnswer) return orOpenly(row, notice, message, at, inbound, text);
  // An answer without a mark reads as passed on. The hook that failed would withhold this, too.
  const told = { ...notice, skipsHooks: true };
  const openly = { address: at, message: reply, isForEach: true };
  return formatAddress(told.address) === formatAddress(at) ? told : { ...told, openly };
}

function textFor(row: LaneRow, role: Role | undefined, isAnswer: boolean): string {
  const id = causeId(row);
  const attempts = startsSeen(row);
  const times = attempts === 1 ? "one attempt" : `${attempts} attempts`;
  const what = `Your message was not handled: it was given up after ${times}.`;
  // A person without a role may give neither command.
  if (role === undefined && isAnswer)
    return `Your message was not passed on: it was given up after ${times}. The operators can see why. Ask one of them before you write again.`;
  if (role === undefined) return `${what} Try again later.`;
  const retry = hasRole(role, "operator") ? ` \`/outbox retry ${id}\` tries it again.` : "";
  return `${what} \`/hooks why ${id}\` shows why.${retry}`;
}
