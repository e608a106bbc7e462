/** People and chats by name. */
import { type Address, formatAddress, parseAddress } from "../src/domain/chat/address.js";
import type { Operator } from "../src/domain/chat/identity.js";
import type { CommandDeps } from "./deps.js";
import { code, plain } from "./show/text.js";

/** Markdown. */
export const operatorName = ({ platform, userId, displayName }: Operator): string =>
  plain(displayName ?? `${platform}:${userId}`, 64);

/** `` General (`web:web:general`) ``; the address alone where the name is not known. Markdown. */
export function placeText({ placeName }: Pick<CommandDeps, "placeName">, at: Address): string {
  const name = placeName?.(at);
  const address = code(formatAddress(at));
  return name === undefined || name === "" ? address : `${plain(name, 64)} (${address})`;
}

/** `General on web`; the address where the name is not known. Markdown. */
export function placeWords({ placeName }: Pick<CommandDeps, "placeName">, at: Address): string {
  const name = placeName?.(at);
  return name === undefined || name === "" ? code(formatAddress(at)) : `${plain(name, 64)} on ${at.platform}`;
}

/** As `placeText`, for a conversation by its key. */
export function conversationText(deps: Pick<CommandDeps, "placeName">, conversation: string): string {
  const at = parseAddress(conversation);
  return at === undefined ? code(conversation) : placeText(deps, at);
}

/** Its name alone, for a cell of a table; the key where no name is known. */
export function conversationName({ placeName }: Pick<CommandDeps, "placeName">, conversation: string): string {
  const at = parseAddress(conversation);
  return (at && placeName?.(at)) || conversation;
}
