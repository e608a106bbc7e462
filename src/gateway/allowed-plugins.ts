/** Which plugins' hooks run in a conversation, as `gateway.allowed_plugins` says. */
import { formatAddress, parseAddress } from "../domain/address.js";

type Allowed = Readonly<Record<string, readonly string[]>>;

/** The most specific key counts: the address with its thread, the chat, the platform, then `*`. Undefined: no limit. */
export function allowedPluginsIn(conversation: string, allowed: Allowed): readonly string[] | undefined {
  const at = parseAddress(conversation);
  const { platform, botId, chatId } = at ?? {};
  const keys = [conversation];
  if (platform !== undefined && botId !== undefined && chatId !== undefined)
    keys.push(formatAddress({ platform, botId, chatId }), `${platform}:${chatId}`, platform);
  const key = [...keys, "*"].find((one) => Object.hasOwn(allowed, one));
  return key === undefined ? undefined : allowed[key];
}
