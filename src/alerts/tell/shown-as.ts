/** How people call a place where alerts are posted: `General (web)`, or the host of a webhook. */
import { type Address, parseAddress } from "../../domain/address.js";

/** The address itself where its platform knows no name. A webhook's may hold a secret in its path. */
export function shownAs(destination: string, placeName?: (at: Address) => string | undefined): string {
  if (isWebhook(destination)) return new URL(destination).host;
  const at = parseAddress(destination);
  const name = at && placeName?.(at);
  return name ? `${name} (${at.platform})` : destination;
}

export const isWebhook = (destination: string) => /^https?:\/\//.test(destination);
