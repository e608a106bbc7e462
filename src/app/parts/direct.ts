/** The addresses of people's direct chats. */
import { dmChatId } from "../../../adapters/discord/dm.js";
import { directRoomId } from "../../../adapters/web/rooms.js";
import type { Environment } from "../../config/env.js";
import { ownAccounts } from "../../config/own-accounts.js";
import type { Config } from "../../config/schema.js";
import { type Address, webAddress } from "../../domain/chat/address.js";
import { hasRole } from "../../domain/chat/identity.js";
import type { Identify } from "../../gateway/people/identity.js";

type Tokens = Pick<Environment, "DISCORD_TOKEN" | "TELEGRAM_TOKEN">;

/** Undefined where the platform is not switched on. */
export function directAddress(
  platform: string,
  userId: string,
  { web }: Pick<Config, "web">,
  env: Tokens,
): Address | undefined {
  if (platform === "web" && web.enabled) return webAddress(directRoomId(userId));
  // A private chat on Telegram has the id of its person.
  const telegramBot = ownAccounts(env).telegram;
  if (platform === "telegram" && telegramBot !== undefined) return { platform, botId: telegramBot, chatId: userId };
  // No bot id: the account follows from the token.
  if (platform === "discord" && env.DISCORD_TOKEN !== undefined)
    return { platform, botId: "", chatId: dmChatId(userId) };
  return undefined;
}

/** Each chat has one spelling, that of `directAddress`: settings may leave out the bot's id. A platform has one bot. */
export function spelled(at: Address, { TELEGRAM_TOKEN }: Pick<Tokens, "TELEGRAM_TOKEN">): Address {
  const { platform, botId } = at;
  if (platform === "discord") return { ...at, botId: "" };
  if (botId !== "") return at;
  const own =
    platform === "web" || platform === "telegram"
      ? ownAccounts({ DISCORD_TOKEN: undefined, TELEGRAM_TOKEN })[platform]
      : undefined;
  return own === undefined ? at : { ...at, botId: own };
}

/** The account (`platform:id`) whose direct messages this chat holds; undefined for every other chat, or where it is not known. */
export function directPerson({ platform, chatId }: Address): string | undefined {
  const [, id] = PERSON_OF_CHAT[platform]?.exec(chatId) ?? [];
  return id === undefined ? undefined : `${platform}:${id}`;
}

/** Whether this is the direct conversation with an admin. */
export function isWithAdmin(at: Address, identify: Identify): boolean {
  const [platform, id] = directPerson(at)?.split(":") ?? [];
  return platform !== undefined && id !== undefined && hasRole(identify(platform, id), "admin");
}

// The chats that `directAddress` gives.
const PERSON_OF_CHAT: Readonly<Record<string, RegExp>> = {
  web: new RegExp(`^${directRoomId("(.+)")}$`),
  telegram: /^(\d+)$/,
  discord: new RegExp(`^${dmChatId("(\\d+)")}$`),
};
