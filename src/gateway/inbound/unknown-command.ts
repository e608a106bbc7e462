/** A message that begins as a command and is none: a typo of an operator, which nothing else reports to them, or Telegram's START. */
import type { Operator } from "../../domain/identity.js";
import type { InboundMessage } from "../../domain/message.js";
import { nearest } from "../../lib/nearest.js";
import type { LaneRow } from "../conversation.js";
import { answerCommand, note } from "./answer-command.js";
import { type Handling, settled } from "./handling.js";
import { type Inbound, referenceTo } from "./receiving.js";
import { introduction } from "./unanswered.js";

/**
 * For a person with a role, `/start` shows what `/help` shows; for others whose messages are forwarded (`default_route`), what this account
 * is. It is never forwarded: Telegram's own button sends it, and the person has not written anything yet. Undefined for other messages.
 */
export function unknownCommand(
  row: LaneRow,
  message: InboundMessage,
  operator: Operator,
  inbound: Inbound,
): Promise<Handling> | Handling | undefined {
  const name = /^\/([a-z][a-z0-9_-]{0,31})(?:\s|$)/i.exec(message.text)?.[1];
  const { role } = operator;
  const route = inbound.config.default_route;
  if (name === undefined || !message.isDm) return undefined;
  const isStart = name.toLowerCase() === "start";
  const isForwardedStart = isStart && typeof route === "object" && "forward" in route;
  if (isForwardedStart && role === undefined)
    return settled(
      "command",
      inbound.config.unanswered_note ? [note(row, message, undefined, introduction(message, inbound), inbound)] : [],
    );
  if (role === undefined || (route !== "none" && !isForwardedStart)) return undefined;
  const help = isStart ? inbound.commands.find("help") : undefined;
  if (help) {
    const call = { command: help, parsed: { kind: "options" as const, options: {} }, operator, message };
    return answerCommand(row, call, inbound);
  }
  const near = nearest(
    name,
    inbound.commands.all.map((command) => command.name),
  );
  const text = `There is no command \`/${name}\`.${near === undefined ? "" : ` Did you mean \`/${near}\`?`} \`/help\` lists them.`;
  // It is handled among the messages, so the answers to later commands may come first.
  const told = note(row, message, undefined, text, inbound);
  return settled("command", [{ ...told, message: { text, replyToId: referenceTo(row, message) } }]);
}

/** Answers for one person in a minute; more would be a flood. */
const MAX_SLIPS = 5;

/**
 * `claim CODE`, `/ claim CODE`, `"/claim CODE"`: the first message of many owners. The sender is told privately how it is written. In a
 * room everybody can read the code, so there it is a claim: a right code is used up.
 */
export function claimSlip(
  row: LaneRow,
  message: InboundMessage,
  operator: Operator,
  inbound: Inbound,
): Promise<Handling> | Handling | undefined {
  const { role } = operator;
  if (!message.isDm && !message.isGroupMention) return undefined;
  const code = /^\W{0,3}claim\b[\s:]*([\w -]{4,20})\W?$/i.exec(message.text)?.[1];
  if (code === undefined || role === "owner") return undefined;
  const command = message.isDm ? undefined : inbound.commands.find("claim");
  if (command !== undefined) {
    const parsed = { kind: "options" as const, options: { code } };
    return answerCommand(row, { command, parsed, operator, message }, inbound);
  }
  if (inbound.perMinute.add(`slips:${message.platform}:${message.userId}`) > MAX_SLIPS) return undefined;
  const text = "A command starts with a slash. To become an owner, send me `/claim CODE` as a direct message.";
  return settled("command", [note(row, message, undefined, text, inbound)]);
}
