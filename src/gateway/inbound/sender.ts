/** Identifies the sender and decides their access. */
import { OF_A_BOT } from "../../domain/chat/access.js";
import type { Operator } from "../../domain/chat/identity.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import { decideAccess, type Place, type Verdict } from "../people/access.js";
import type { Inbound } from "./receiving.js";

export interface Sender {
  operator: Operator;
  verdict: Verdict;
  /** Our own message, or another bot account's: seen by hooks, never answered, or two bots would talk for ever. */
  isBot: boolean;
}

export function senderOf(message: InboundMessage, inbound: Inbound): Sender {
  const { platform, userId, displayName, username, userRoleIds } = message;
  const isBot = message.isBot === true || (userId === message.botId && message.botId !== "");
  const role = isBot ? undefined : inbound.identify(platform, userId, userRoleIds);
  const name = displayName ?? username;
  const operator: Operator = { platform, userId };
  if (name !== undefined) operator.displayName = name;
  if (role !== undefined) operator.role = role;
  const verdict: Verdict = isBot
    ? { access: "denied", reason: OF_A_BOT }
    : decideAccess(inbound.access[platform], placeOf(message, inbound), role, message.isGroupMention);
  return { operator, verdict, isBot };
}

export function placeOf(message: InboundMessage, { moves }: Inbound): Place {
  const former = moves.former(message);
  return former ? { ...message, formerChatIds: former } : message;
}
