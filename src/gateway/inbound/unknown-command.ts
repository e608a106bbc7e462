/** A message that starts as a command and is none: a typo of an operator, which nothing else reports to them, or Telegram's START. */
import type { Operator } from "../../domain/chat/identity.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import { nearest } from "../../lib/validation/nearest.js";
import type { LaneRow } from "../conversation.js";
import { answerCommand, note } from "./answer-command.js";
import { type Handling, settled } from "./handling.js";
import { type Inbound, messageAddress, referenceTo } from "./receiving.js";
import { introduction } from "./unanswered.js";

/**
 * For a person with a role, `/start` shows the same as `/help`; for others whose messages are forwarded (`default_route`), it
 * introduces this account. It is never forwarded: Telegram's own button sends it, and the person has not written anything yet.
 * Undefined for other messages. `isPassedOn`: it replies to a copy, so it would be sent to the person who wrote the original.
 */
export function unknownCommand(
  row: LaneRow,
  message: InboundMessage,
  operator: Operator,
  isPassedOn: boolean,
  inbound: Inbound,
): Promise<Handling> | Handling | undefined {
  const name = /^\/([a-z][a-z0-9_-]{0,31})(?:\s|$)/i.exec(message.text)?.[1];
  if (name === undefined) return undefined;
  const isStart = name.toLowerCase() === "start";
  if (operator.role === undefined) return isStart && message.isDm ? welcome(row, message, inbound) : undefined;
  const near = nearest(
    name,
    inbound.commands.all.map((command) => command.name),
  );
  const isToUs = message.isDm || message.isGroupMention || isPassedOn;
  if (!isToUs && near === undefined) return undefined;
  const help = isStart ? inbound.commands.find("help") : undefined;
  if (help) {
    const call = { command: help, parsed: { kind: "options" as const, options: {} }, operator, message };
    return answerCommand(row, call, inbound);
  }
  const meant = near === undefined ? "" : ` Did you mean \`/${near}\`?`;
  const kept = isPassedOn ? " Your reply was not passed on." : "";
  const text = `There is no command \`/${name}\`.${meant} \`/help\` lists them.${kept}`;
  // In a room it is answered there, as any command. In a direct message the answers to later commands may come first.
  const notice = note(row, message, undefined, text, inbound);
  const answer = {
    ...notice,
    address: messageAddress(message),
    message: { text, replyToId: referenceTo(row, message) },
  };
  return settled("command", [answer]);
}

function welcome(row: LaneRow, message: InboundMessage, inbound: Inbound): Handling | undefined {
  const { default_route: route, unanswered_note: isAnswered } = inbound.config;
  if (typeof route !== "object" || !("forward" in route)) return undefined;
  return settled("command", isAnswered ? [note(row, message, undefined, introduction(message, inbound), inbound)] : []);
}
