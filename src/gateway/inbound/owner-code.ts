/** An owner code in a message that is no command: typed with an error, or where others read it. */
import type { Operator } from "../../domain/chat/identity.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import type { LaneRow } from "../conversation.js";
import { answerCommand, note } from "./answer-command.js";
import { type Handling, settled } from "./handling.js";
import type { Inbound } from "./receiving.js";
import type { Sender } from "./sender.js";

/**
 * A direct message with the current code is for the gateway alone: no hook may claim it, and it is copied nowhere. In a room everybody
 * can read the code: it is used up by a claim, else void. Undefined when the message is handled like any other.
 */
export function ownerCode(
  row: LaneRow,
  message: InboundMessage,
  { operator, isBot }: Sender,
  inbound: Inbound,
): Promise<Handling> | Handling | undefined {
  if (inbound.claims?.find(message.text) === undefined) return undefined;
  if (message.isDm) return isBot ? undefined : withheldCode(row, message, inbound);
  const claim = isBot ? undefined : claimTypo(row, message, operator, inbound);
  if (!claim) voidCode(row, message, inbound);
  return claim;
}

/** Answers a direct message, new or edited, that has the current code in it. */
export function withheldCode(row: LaneRow, message: InboundMessage, inbound: Inbound): Handling | undefined {
  if (!message.isDm || inbound.claims?.find(message.text) !== "exact") return undefined;
  const text =
    "Your message contains the current owner code, so it was not passed on. To become an owner, send me `/claim CODE` as a new direct message.";
  const isFlood = inbound.perMinute.add(`typos:${message.platform}:${message.userId}`) > MAX_TYPOS;
  const reason = "it contains the current owner code, so no hook was asked about it, and it was not copied";
  return {
    kind: "settled",
    outcome: "command",
    reason,
    deliveries: isFlood ? [] : [note(row, message, undefined, text, inbound)],
  };
}

/** Others read a message that was written in a room: a code in it is void. */
export function voidCode(row: LaneRow, message: InboundMessage, inbound: Inbound): void {
  if (message.isDm || inbound.claims?.overheard(message.text) !== true) return;
  inbound.logger.warn({ conversation: row.conversation }, OVERHEARD);
}

const OVERHEARD =
  "an owner code was typed where others could read it, and is void: `npx hookgate claim` prints a new one";

/** Answers for one person in a minute; more would be a flood. */
const MAX_TYPOS = 5;

/**
 * `claim CODE`, `/ claim CODE`, `"/claim CODE"`: the first message of many owners. The sender is shown privately how it is written. In
 * a room everybody can read the code, so there it is a claim: a right code is used up.
 */
export function claimTypo(
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
  if (inbound.perMinute.add(`typos:${message.platform}:${message.userId}`) > MAX_TYPOS) return undefined;
  const text = "A command starts with a slash. To become an owner, send me `/claim CODE` as a direct message.";
  return settled("command", [note(row, message, undefined, text, inbound)]);
}
