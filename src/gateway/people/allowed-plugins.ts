/** The plugins whose hooks run in a conversation, by `gateway.allowed_plugins`. */
import { type Address, formatAddress, parseAddress } from "../../domain/chat/address.js";

type Allowed = Readonly<Record<string, readonly string[]>>;

/**
 * The most specific key counts: the address with its thread, the chat, the platform, then `*`. A chat that moved has its former ids, too.
 * Undefined: no limit.
 */
export function allowedPluginsIn(
  conversation: string,
  allowed: Allowed,
  formerChats: (at: Address) => readonly string[] | undefined,
): readonly string[] | undefined {
  const at = parseAddress(conversation);
  const key = [...(at ? keysOf(at, formerChats(at)) : [conversation]), "*"].find((one) => Object.hasOwn(allowed, one));
  return key === undefined ? undefined : allowed[key];
}

function keysOf(at: Address, former: readonly string[] = []): string[] {
  const { platform, botId } = at;
  const ids = [at.chatId, ...former];
  return [
    ...ids.map((chatId) => formatAddress({ ...at, chatId })),
    ...ids.map((chatId) => formatAddress({ platform, botId, chatId })),
    ...ids.map((chatId) => `${platform}:${chatId}`),
    platform,
  ];
}
