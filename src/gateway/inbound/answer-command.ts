/** Runs a command that was given in chat and sends its answer: privately where the platform can, where it was asked otherwise. */

import { type Address, formatAddress } from "../../domain/chat/address.js";
import { COMMAND_LANE } from "../../domain/chat/command-lane.js";
import type { InteractionRef } from "../../domain/chat/event.js";
import type { Operator } from "../../domain/chat/identity.js";
import type { InboundMessage, OutboundMessage } from "../../domain/chat/message.js";
import { ANSWER_MARK } from "../../domain/journal.js";
import type { NewDelivery } from "../../domain/store.js";
import type { Command } from "../commands.js";
import type { LaneRow } from "../conversation.js";
import { decideAccess } from "../people/access.js";
import { type Handling, settled } from "./handling.js";
import { LiveAnswer } from "./live-answer.js";
import type { ParsedOptions } from "./parse-command.js";
import {
  causeId,
  causeOf,
  dispatchIdOf,
  givenBy,
  type Inbound,
  messageAddress,
  newDelivery,
  referenceTo,
  startsSeen,
  urgencyOfAnswer,
} from "./receiving.js";
import { runCommand } from "./run-command.js";
import { placeOf } from "./sender.js";

export interface ChatCall {
  command: Command;
  parsed: ParsedOptions;
  operator: Operator;
  message: InboundMessage;
  interaction?: InteractionRef;
  /** The command came from a button. */
  isPress?: boolean;
  /** The line that was pressed, where the answer must show it. */
  shownLine?: string | undefined;
  /** The answer replaces the message that this delivery posted: a press on a button of an earlier answer. */
  inPlaceOf?: string;
}

export async function answerCommand(row: LaneRow, call: ChatCall, inbound: Inbound): Promise<Handling> {
  const { command, parsed, operator, message, interaction } = call;
  const limited = overLimit(row, call, inbound);
  if (limited) return limited;
  const at = messageAddress(message);
  const by = givenBy(row);
  const base = answerDelivery(row, { ...call, interaction: channelOf(call) }, at, inbound);
  const live = new LiveAnswer(base, call.inPlaceOf ?? (await shownBefore(row, base, inbound)), inbound);
  const answer = await runCommand(
    {
      command,
      commands: inbound.commands,
      parsed,
      operator,
      source: message.platform,
      at,
      from: {
        ...message,
        isListenedTo: isListenedTo(message, inbound),
        isOpen: !message.isDm && interaction === undefined,
        isAnsweredOpenly: await isAnsweredOpenly(call, at, inbound),
      },
      causeId: causeId(row),
      givenBy: by,
      replyToId: message.replyToId,
      progress: (shown) => live.progress(answering(shown, call, row)),
      fire: {
        dispatchId: dispatchIdOf(row, "command_invoked"),
        attempt: startsSeen(row),
        cause: causeOf(row, "command"),
        conversation: row.conversation,
        access: operator.role ? "allowed" : "denied",
      },
    },
    inbound,
  );
  const shown = answering(withLine(answer.message, call.shownLine), call, row);
  const ended = await live.finish(shown);
  // An upload may take long, and urgent ones behind it (alerts) would wait for it.
  if (shown.attachments?.length) ended.urgency = undefined;
  // The person whose answer it is may continue with it, so a refusal of another person does not replace it.
  const isBeside = answer.outcome === "refused" && call.inPlaceOf !== undefined;
  const delivery = isBeside ? { ...base, message: shown } : ended;
  if (answer.isNote && call.isPress && answer.outcome === undefined)
    return settled("command", [away(delivery, message, inbound)]);
  if (answer.outcome === "failed")
    return { kind: "settled", outcome: "command", deliveries: [delivery], isFailed: true };
  if (answer.outcome !== "refused") return settled("command", [delivery]);
  const refusal = away(delivery, message, inbound);
  const handling: Handling = {
    kind: "settled",
    outcome: "command",
    deliveries: [
      interaction ? refusal : orOpenly(row, refusal, message, at, inbound, answer.isQuestion ? ASKS : REFUSED),
    ],
  };
  if (answer.refusal !== undefined) handling.reason = answer.refusal;
  return handling;
}

/** One person's commands must not keep everybody's gateway busy. Owners may run programs here anyway. */
function overLimit(row: LaneRow, call: ChatCall, inbound: Inbound): Handling | undefined {
  const { operator, message, interaction } = call;
  if (operator.role === "owner") return undefined;
  const max = inbound.config.commands_per_minute;
  const key = `commands:${message.platform}:${message.userId}`;
  const count = inbound.perMinute.add(key);
  if (count <= max) return undefined;
  const reason = `more than ${max} commands of one person within a minute`;
  inbound.ignored.note(message, reason);
  // Answered once. A slash command or a press is always answered, because the platform shows the person that it waits.
  const isAnswered = interaction !== undefined || count === max + 1;
  const { message: why } = inbound.perMinute.exceeded(key, "commands");
  const text = `You sent ${why}. Until then your commands are ignored.`;
  const deliveries = isAnswered ? [note(row, message, channelOf(call), text, inbound)] : [];
  return { kind: "settled", outcome: "denied", reason, deliveries };
}

/** Where the answer to a press replaces the message with the button, any other message comes beside it. */
function channelOf({ interaction, inPlaceOf }: ChatCall): InteractionRef | undefined {
  return interaction && inPlaceOf !== undefined ? { ...interaction, isFollowUp: true } : interaction;
}

/**
 * Whether others read the answer. A slash command is answered privately, and so is every command where one person can be answered in
 * place. A press on a button of an earlier answer is answered as that was.
 */
async function isAnsweredOpenly(
  { message, interaction, inPlaceOf }: ChatCall,
  at: Address,
  { adapters, store }: Inbound,
): Promise<boolean> {
  if (message.isDm || adapters.get(message.platform)?.traits.privateAddress(at, message.userId) === undefined)
    return false;
  const channel = inPlaceOf === undefined ? interaction : (await store.outbox.get(inPlaceOf))?.interaction;
  // A notice holds one short word: the answer is a message like any other.
  return channel === undefined || channel.isNotice === true;
}

/** Whether the access list has the place, for any sender. */
function isListenedTo(message: InboundMessage, inbound: Inbound): boolean {
  const place = placeOf(message, inbound);
  return decideAccess(inbound.access[message.platform], place, "viewer", undefined).access === "allowed";
}

/** A short private word that is no command's answer: a button that expired, a press that is not for them. */
export function note(
  row: LaneRow,
  message: InboundMessage,
  interaction: InteractionRef | undefined,
  text: string,
  inbound: Inbound,
): NewDelivery {
  const base = answerDelivery(row, { message, interaction, operator: undefined }, messageAddress(message), inbound);
  const shown = message.isDm ? { text } : answering({ text }, { message, interaction }, row);
  return away({ ...base, message: shown }, message, inbound);
}

interface AnswerFacts {
  message: InboundMessage;
  interaction?: InteractionRef | undefined;
  operator: Operator | undefined;
}

function answerDelivery(
  row: LaneRow,
  { message, interaction, operator }: AnswerFacts,
  address: Address,
  inbound: Inbound,
): NewDelivery {
  return newDelivery(
    row,
    ANSWER_MARK,
    {
      address,
      operation: "send",
      cause: causeOf(row, "command"),
      visibleTo: message.userId,
      answers: { role: operator?.role },
      urgency: urgencyOfAnswer(message),
      interaction: interaction && { ...interaction, isPrivate: true },
    },
    inbound,
  );
}

/** After a crash the progress of the first attempt is there: it is edited, not posted twice. */
async function shownBefore(row: LaneRow, base: NewDelivery, inbound: Inbound): Promise<string | undefined> {
  if (startsSeen(row) === 1) return undefined;
  return (await inbound.store.outbox.get(base.id))?.id;
}

/** Above the answer: the line that the press ran, in the words of the button's line. */
function withLine(answer: OutboundMessage, line: string | undefined): OutboundMessage {
  if (line === undefined) return answer;
  const code = `\`${line.replace(/\s+/g, " ").replaceAll("`", "'")}\``;
  const text = answer.format === undefined || answer.format === "markdown" ? code : line;
  return { ...answer, text: answer.text === "" ? text : `${text}\n\n${answer.text}` };
}

/**
 * An answer to a typed command in a group points at the command. So does one in a direct message that may overtake others: that of a
 * slow command, which has a lane of its own, and of a text that is handled among the messages.
 */
function answering(
  shown: OutboundMessage,
  {
    message,
    interaction,
    isPress,
  }: Pick<ChatCall, "message" | "isPress"> & { interaction?: InteractionRef | undefined },
  row: LaneRow,
): OutboundMessage {
  const isInOrder = message.isDm && (isPress || row.lane.endsWith(COMMAND_LANE));
  if (interaction || isInOrder || shown.replyToId !== undefined) return shown;
  return { ...shown, replyToId: referenceTo(row, message) };
}

/** A refusal is private: where it cannot be shown to one person in place, it goes to them directly, if it can. */
function away(answer: NewDelivery, message: InboundMessage, { adapters }: Inbound): NewDelivery {
  const delivery: NewDelivery = { ...answer, isCourtesy: true };
  if (message.isDm || delivery.operation !== "send") return delivery;
  // A notice that comes too late becomes a message, which must be private too.
  if (delivery.interaction && !delivery.interaction.isNotice) return delivery;
  const address = adapters.get(message.platform)?.traits.privateAddress(delivery.address, message.userId);
  if (!address) return delivery;
  const { replyToId: _, ...bare } = delivery.message ?? { text: "" };
  return { ...delivery, address, message: bare };
}

const REFUSED = "You may not do that here. To learn more, send me `/whoami` in a direct message.";
const ASKS =
  "This command asks a question before it does anything, and the question could not reach you privately. Send me a direct message, then give the command again.";

/**
 * The author of a command in a group may be out of reach (a Telegram bot cannot write first): then a short line in the group, for each
 * question, and once for refusals.
 */
export function orOpenly(
  row: LaneRow,
  refusal: NewDelivery,
  message: InboundMessage,
  at: Address,
  { config }: Inbound,
  text = REFUSED,
): NewDelivery {
  if (!config.refuse_openly || formatAddress(refusal.address) === formatAddress(at)) return refusal;
  const word = { text, replyToId: referenceTo(row, message) };
  return { ...refusal, openly: { address: at, message: word, isForEach: text === ASKS } };
}
