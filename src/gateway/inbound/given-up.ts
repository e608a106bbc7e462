/** A message that became a dead letter: its author waits for an answer that does not come by itself. */
import { formatAddress } from "../../domain/address.js";
import { hasRole, type Role } from "../../domain/identity.js";
import { answerId } from "../../domain/journal.js";
import type { NewDelivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { note, orOpenly } from "./answer-command.js";
import { isOurs, originOf } from "./forward.js";
import { afterMove, attemptOf, causeId, type Inbound, messageAddress, referenceTo } from "./receiving.js";
import { isNotified } from "./reply.js";
import { senderOf } from "./sender.js";

/** The note for its author: who is told when no hook answers, who sees that a button or a command still waits, and who answered a customer. */
export async function givenUpNote(row: LaneRow, inbound: Inbound): Promise<NewDelivery | undefined> {
  const event = afterMove(row.event, inbound);
  if (!("message" in event) || event.kind === "edited") return undefined;
  const { message } = event;
  const interaction = "interaction" in event && !event.interaction?.isNotice ? event.interaction : undefined;
  const { role } = senderOf(message, inbound).operator;
  const origin = interaction ? undefined : await originOf(message, inbound);
  const isAnswer = origin !== undefined && (await isOurs(message, role, origin, inbound));
  if (!interaction && !isAnswer && !isNotified(message, role, inbound)) return undefined;
  const notice = note(row, message, interaction, textFor(row, role, isAnswer), inbound);
  // A second try by an operator may answer it, or end in another note.
  const delivery = { ...notice, id: answerId(causeId(row), `${MARK}${row.round}`) };
  if (interaction) return delivery;
  const at = messageAddress(message);
  if (message.isDm)
    return {
      ...delivery,
      message: { ...notice.message, text: notice.message?.text ?? "", replyToId: referenceTo(row, message) },
    };
  const text = notice.message?.text ?? "";
  if (!isAnswer) return orOpenly(row, delivery, message, at, inbound, text);
  // An answer without a mark reads as passed on. The hook that failed would withhold this, too.
  const told = { ...delivery, skipsHooks: true };
  const openly = { address: at, message: { text, replyToId: referenceTo(row, message) }, isForEach: true };
  return formatAddress(told.address) === formatAddress(at) ? told : { ...told, openly };
}

const MARK = "g";

function textFor(row: LaneRow, role: Role | undefined, isAnswer: boolean): string {
  const id = causeId(row);
  const attempts = attemptOf(row);
  const times = attempts === 1 ? "one attempt" : `${attempts} attempts`;
  const what = `Your message was not handled: it was given up after ${times}.`;
  // Who has no role may give neither command.
  if (role === undefined && isAnswer)
    return `Your message was not passed on: it was given up after ${times}. The operators can see why. Ask one of them before you write again.`;
  if (role === undefined) return `${what} Try again later.`;
  const retry = hasRole(role, "operator") ? ` \`/outbox retry ${id}\` tries it again.` : "";
  return `${what} \`/hooks why ${id}\` shows why.${retry}`;
}
