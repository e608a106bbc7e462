/** A message that became a dead letter: its author waits for an answer that does not come by itself. */
import { hasRole, type Role } from "../../domain/identity.js";
import { answerId } from "../../domain/journal.js";
import type { NewDelivery } from "../../domain/store.js";
import type { LaneRow } from "../conversation.js";
import { note, orOpenly } from "./answer-command.js";
import { afterMove, attemptOf, causeId, type Inbound, messageAddress, referenceTo } from "./receiving.js";
import { isNotified } from "./reply.js";
import { senderOf } from "./sender.js";

/** The note for its author: who is told when no hook answers, and who sees that a button or a command still waits. */
export function givenUpNote(row: LaneRow, inbound: Inbound): NewDelivery | undefined {
  const event = afterMove(row.event, inbound);
  if (!("message" in event) || event.kind === "edited") return undefined;
  const { message } = event;
  const interaction = "interaction" in event && !event.interaction?.isNotice ? event.interaction : undefined;
  const { role } = senderOf(message, inbound).operator;
  if (!interaction && !isNotified(message, role, inbound)) return undefined;
  const notice = note(row, message, interaction, textFor(row, role), inbound);
  // A second try by an operator may answer it, or end in another note.
  const delivery = { ...notice, id: answerId(causeId(row), `${MARK}${row.round}`) };
  if (interaction) return delivery;
  const at = messageAddress(message);
  if (message.isDm)
    return {
      ...delivery,
      message: { ...notice.message, text: notice.message?.text ?? "", replyToId: referenceTo(row, message) },
    };
  return orOpenly(row, delivery, message, at, inbound, notice.message?.text);
}

const MARK = "g";

function textFor(row: LaneRow, role: Role | undefined): string {
  const id = causeId(row);
  const attempts = attemptOf(row);
  const times = attempts === 1 ? "one attempt" : `${attempts} attempts`;
  const what = `Your message was not handled: it was given up after ${times}.`;
  // Who has no role may give neither command.
  if (role === undefined) return `${what} Try again later.`;
  const retry = hasRole(role, "operator") ? ` \`/outbox retry ${id}\` tries it again.` : "";
  return `${what} \`/hooks why ${id}\` shows why.${retry}`;
}
