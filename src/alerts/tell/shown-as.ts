/** How people call a place where alerts are posted: `General (web)`, or the host of a webhook. */
import { type Address, parseAddress } from "../../domain/chat/address.js";

/** `a Telegram group (-100…)` or the address itself where its platform knows no name. A webhook's may hold a secret in its path. */
export function shownAs(destination: string, placeName?: (at: Address) => string | undefined): string {
  if (isWebhook(destination)) return new URL(destination).host;
  const at = parseAddress(destination);
  const name = at && placeName?.(at);
  if (name) return `${name} (${at.platform})`;
  // Groups of Telegram have no name here until the bot has seen them.
  return at?.platform === "telegram" && at.chatId.startsWith("-") ? `a Telegram group (${at.chatId})` : destination;
}

export const isWebhook = (destination: string) => /^https?:\/\//.test(destination);
